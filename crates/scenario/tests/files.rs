//! Scenario files: what they become, what is wrong with them and where, and the schema that editors use.

use std::io;
use std::path::{Path, PathBuf};

use genkai_model::load::{Arrivals, Spacing};
use genkai_model::objective::{Bound, Condition};
use genkai_model::scenario::{Expected, Order, Step, Think, Times};
use genkai_model::units::{Span, Spread};
use genkai_scenario::{Script, World, read, schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn script_of(file: &str, text: &str, folder: &Path, chosen: Option<&str>) -> Result<Script, String> {
    let world = World {
        read: &|name| match name.to_str() {
            Some("short.csv") => Ok("a,b\n1,2\n3\n".to_owned()),
            Some("people.csv") => Ok("name,age\nada,36\ngrace,85\n".to_owned()),
            _ if folder.as_os_str().is_empty() => Err(io::ErrorKind::NotFound.into()),
            _ => std::fs::read_to_string(folder.join(name)),
        },
        environment: &|name| (name == "TOKEN").then(|| "secret".to_owned()),
        chosen,
        targets: &[],
    };
    read(file, text, &world).map_err(|fault| fault.to_string())
}

fn script(text: &str) -> Result<Script, String> {
    script_of("f", text, Path::new(""), None)
}

/// A scenario with these phases and steps, each a YAML flow value.
fn with(phases: &str, steps: &str) -> String {
    format!("target: http://127.0.0.1:1\nphases: {phases}\nflows:\n  - steps: {steps}\n")
}

/// A scenario with this as its second target.
fn targets(second: &str) -> String {
    format!(
        "targets: {{one: 'https://127.0.0.1:1', two: {second}}}\nphases: [{{users: 1, for: 1s}}]\nflows:\n  \
         - steps: [{{request: GET /}}]\n"
    )
}

fn steps(steps: &str) -> Vec<Step> {
    let text = with("[{users: 1, for: 1s}]", steps);
    script(&text).unwrap_or_else(|e| panic!("{text}{e}")).scenario.flows.remove(0).steps
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let (made, file) = (schema::scenario(), root().join("schemas/scenario.schema.json"));
    if std::env::var_os("GENKAI_UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == made, "{} is out of date: run `make schemas`", file.display());
}

#[test]
fn examples_are_understood_and_valid() {
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&schema::scenario()).unwrap()).unwrap();
    let folder = root().join("examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let script = script_of("example", &text, &folder, None).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(!script.scenario.flows.is_empty() && !script.stages.is_empty());
        seen += 1;
        if path.extension().is_some_and(|end| end == "yaml") {
            let value = json(&text);
            let errors: Vec<String> =
                validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
            assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        }
    }
    assert!(seen >= 3);
    for bad in ["flows: []", "phases: []", "phases: []\nflows: []\nflow: 1", "phases: [{user: 1}]\nflows: []"] {
        assert!(!validator.is_valid(&json(bad)), "{bad}");
    }
}

/// YAML as JSON, by a reader that is not ours: the events of the parser alone.
fn json(text: &str) -> serde_json::Value {
    use saphyr_parser::{Event, Parser, ScalarStyle};
    use serde_json::{Map, Value};
    enum Open {
        List(Vec<Value>),
        Map(Map<String, Value>, Option<String>),
    }
    let (mut open, mut root) = (Vec::<Open>::new(), Value::Null);
    for event in Parser::new_from_str(text) {
        let value = match event.unwrap().0 {
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned().into())
            }
            Event::Scalar(text, ..) => text.into_owned().into(),
            Event::SequenceStart(..) => {
                open.push(Open::List(vec![]));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop().unwrap() {
                Open::List(list) => list.into(),
                Open::Map(map, _) => map.into(),
            },
            _ => continue,
        };
        match open.last_mut() {
            None => root = value,
            Some(Open::List(list)) => list.push(value),
            Some(Open::Map(map, key)) => match key.take() {
                None => *key = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                Some(key) => drop(map.insert(key, value)),
            },
        }
    }
    root
}

#[test]
fn phases_become_stages() {
    let of = |phases: &str| script(&with(phases, "[{request: GET /}]")).unwrap();
    let users = of("[{users: 0..50, for: 10s}, {users: 50, for: 1m}, {pause: 5s}, {users: 200, for: 5s, name: spike}]");
    let shown: Vec<String> = users.stages.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["10s:0..50", "1m:50..50", "5s:pause", "spike 5s:200..200"]);
    assert!(matches!(users.arrivals, Arrivals::Users { count: 200, .. }));
    let rate = of("[{rate: 0..10.5, for: 10s}, {count: 30, for: 10s}]");
    let shown: Vec<String> = rate.stages.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["10s:0..10.5", "10s:3..3"]);
    assert!(matches!(rate.arrivals, Arrivals::Rate { spacing: Spacing::Uniform, connections: 1000, .. }));
}

#[test]
fn steps_become_what_they_say() {
    let all = steps(
        "[{request: 'post /a?b={{$uuid()}}', json: {n: 1, s: 'x', f: 1.5, t: true, z: null}, capture: {id: {json: /id}}}, \
          {think: 1s}, {loop: [a, b], as: x, steps: [{request: 'GET /{{x}}/{{id}}', check: {status: [2xx, 404]}}]}, \
          {connect: /ws}, {send: {q: '{{id}}', t: 'a {{id}}'}}, {expect: pong, within: 2s, search: true}]",
    );
    let [
        Step::Request(post),
        Step::Think(Think::Spread(pause)),
        Step::Loop(round),
        Step::Connect(_),
        Step::Send(send),
        Step::Expect(expect),
    ] = all.as_slice()
    else {
        panic!("{all:?}")
    };
    assert_eq!((post.method.as_str(), post.cookies, post.redirects), ("POST", true, 0));
    assert_eq!(post.body.as_ref().unwrap().to_string(), r#"{"n":1,"s":"x","f":1.5,"t":true,"z":null}"#);
    assert_eq!(*pause, Spread::Constant(Span::from_secs(1)));
    assert!(matches!(&round.times, Times::Over(values) if values.len() == 2));
    let Step::Request(get) = &round.steps[0] else { panic!() };
    assert!(matches!(&get.checks[0].what, Expected::Status(ranges) if *ranges == [(200, 299), (404, 404)]));
    assert_eq!(send.payload.to_string(), r#"{"q":{{id | json}},"t":"a {{id | quoted}}"}"#);
    assert_eq!((expect.within, expect.search), (Some(Span::from_secs(2)), true));
}

#[test]
fn http2_is_for_all_targets_or_for_one() {
    let spoken = |text: &str| {
        let script = script(text).unwrap_or_else(|e| panic!("{text}{e}"));
        script.scenario.targets.iter().map(|target| target.http2.map(|http2| http2.streams)).collect::<Vec<_>>()
    };
    let plain = "'http://127.0.0.1:1'";
    assert_eq!(spoken(&targets(plain)), [None, None]);
    assert_eq!(spoken(&format!("http2: true\n{}", targets(plain))), [Some(10), Some(10)]);
    assert_eq!(spoken(&format!("http2: true\nstreams: 3\n{}", targets("'wss://127.0.0.1:1'"))), [Some(3), None]);
    let own = "{url: 'http://127.0.0.1:1', http2: true, streams: 7}";
    assert_eq!(spoken(&targets(own)), [None, Some(7)]);
    assert_eq!(spoken(&format!("streams: 3\n{}", targets(own))), [None, Some(7)]);
    let not = "{url: 'http://127.0.0.1:1', http2: false}";
    assert_eq!(spoken(&format!("http2: true\n{}", targets(not))), [Some(10), None]);
    let artillery = "config:\n  target: https://127.0.0.1:1\n  phases: [{duration: 1, arrivalRate: 1}]\n  http: {http2: true}\n\
        scenarios:\n  - flow: [{get: {url: 'http://127.0.0.1:2/'}}]\n";
    assert_eq!(spoken(artillery), [Some(10), Some(10)]);
    assert_eq!(spoken(&artillery.replace("true", "false")), [None, None]);
}

#[test]
fn a_plan_is_json_and_back() {
    let text = std::fs::read_to_string(root().join("examples/shop.yaml")).unwrap();
    let script = script_of("shop", &text, &root().join("examples"), None).unwrap();
    let plan = serde_json::to_string(&script.scenario).unwrap();
    assert_eq!(serde_json::from_str::<genkai_model::scenario::Scenario>(&plan).unwrap(), script.scenario);
}

/// Where the last `mark` in `text` begins, as a message says it.
fn place(text: &str, mark: &str) -> String {
    let at = text.rfind(mark).unwrap_or_else(|| panic!("{mark} in {text}"));
    let before = &text[..at];
    format!("f:{}:{}: ", before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |n| n + 1) + 1)
}

/// What is wrong, where it stands, what is said, and what is hinted.
#[test]
fn mistakes_have_their_place_and_a_hint() {
    let phases = "[{users: 1, for: 1s}]";
    let get = "[{request: GET /}]";
    let mistakes = [
        ("a: [b\n}\n", "}", "not YAML", "indent"),
        ("phase: []\n", "phase", "unknown key `phase`", "did you mean `phases`?"),
        ("target: 5\nphases: []\nflows: []\n", "5", "`target` must be an address", "http://"),
        (&with("[{users: many, for: 1s}]", get), "many", "a number of users, not `many`", "0..50"),
        (&with("[{users: 5}]", get), "{users", "needs `for`", "for: 10s"),
        (&with("[{users: 5, for: soon}]", get), "soon", "must be a duration", "500ms"),
        (&with("[{users: 5, for: 1s}, {rate: 5, for: 1s}]", get), "{rate", "cannot be mixed", "split the file"),
        (&with("[{pause: 5s}]", get), "[{pause", "make no load", "users or a rate"),
        (&with(phases, "[]"), "steps: []", "sends nothing", "add a request"),
        (&with(phases, "[{requst: GET /}]"), "requst", "unknown key `requst`", "did you mean `request`?"),
        (&with(phases, "[{request: GET}]"), "GET}", "a method and a path", "GET /users"),
        (&with(phases, "[{request: 'GET /{{nam}}'}]"), "'GET", "unknown variable `nam`", "define it"),
        (&with(phases, "[{request: 'GET /{{a b}}'}]"), "'GET", "not the name of a variable", "{{id}}"),
        (&with(phases, "[{request: GET /, capture: {a: {json: token}}}]"), "token}", "a place in JSON", "/user/name"),
        (&with(phases, "[{request: GET /, capture: {a: {regex: '('}}}]"), "'('", "regular expression", "write it"),
        (&with(phases, "[{request: GET /, check: {statu: 200}}]"), "statu:", "`statu` in a check", "`status`"),
        (&with(phases, "[{request: GET /, target: shop}]"), "shop", "unknown target `shop`", "known: target"),
        (&with(phases, "[{loop: 3, steps: [{send: x}]}]"), "{loop", "waits for nothing", "think"),
        ("a: 1\na: 2\n", "a: 2", "`a` is there twice", "keep one"),
        (&format!("http2: perhaps\n{}", with(phases, get)), "perhaps", "`http2` must be true or false", ""),
        (&format!("http2: true\nstreams: 0\n{}", with(phases, get)), "0\ntarget", "a whole number of 1 or more", ""),
        (&format!("streams: 5\n{}", with(phases, get)), "5\ntarget", "HTTP/1.1 has none", "http2: true"),
        (&targets("{url: 'ws://127.0.0.1:1', http2: true}"), "true}", "`http2` with ws://", "opened by HTTP/1.1"),
        (&targets("{url: 'http://127.0.0.1:1', streams: 5}"), "5}", "HTTP/1.1 has none", "http2: true"),
        (&targets("{http2: true}"), "{http2", "a target needs `url`", ""),
        (&targets("{url: 'http://127.0.0.1:1', htttp2: true}"), "htttp2", "unknown key `htttp2`", "`http2`"),
    ];
    for (text, mark, what, hint) in mistakes {
        let said = script(text).expect_err(text);
        assert!(said.starts_with(&place(text, mark)), "{text}\n{said}\nwanted {}", place(text, mark));
        let (first, second) = said.split_once("\n  hint: ").unwrap_or((&said, ""));
        assert!(first.contains(what) && second.contains(hint), "{text}\n{said}\nwanted {what} / {hint}");
    }
}

#[test]
fn tables_are_read_and_their_mistakes_too() {
    let table = |data: &str, path: &str| {
        script(&format!("data: {data}\n{}", with("[{users: 1, for: 1s}]", &format!("[{{request: 'GET /{path}'}}]"))))
    };
    let read = table("{file: people.csv, order: random}", "{{name}}/{{age}}").unwrap();
    assert_eq!(read.scenario.tables[0].columns, ["name", "age"]);
    assert_eq!((read.scenario.tables[0].rows.len(), read.scenario.tables[0].order), (2, Order::Random));
    let fails = |data: &str, path: &str| table(data, path).unwrap_err();
    assert!(fails("{file: people.csv}", "{{nam}}").contains("did you mean `name`?"));
    assert!(fails("{file: none.csv}", "").starts_with("f:1:7: `none.csv` cannot be read"));
    assert!(fails("{file: short.csv}", "").starts_with("short.csv:3:1: column `b` is missing"));
    assert!(fails("{file: people.csv, columns: [a, b, c]}", "").contains("column `c` is missing"));
}

const ARTILLERY: &str = "\
config:
  target: http://127.0.0.1:1
  phases: [{duration: 60, arrivalRate: 10, rampTo: 50, name: warm}, {duration: 1m, arrivalCount: 300}, {pause: 30}]
  variables: {city: [Paris, Rome]}
  payload: {path: people.csv, fields: [name, age], skipHeader: true}
  ws: {subprotocols: [json], headers: {X-A: b}}
  environments: {local: {target: 'http://127.0.0.1:2', phases: [{duration: 1, arrivalRate: 1}]}}
  ensure: {thresholds: [{http.response_time.p99: 250}], maxErrorRate: 1, conditions: [{expression: http.request_rate > 10}]}
scenarios:
  - flow:
      - get: {url: '{{ target }}/{{ name }}?c={{ city }}', capture: {json: $.id, as: id}, expect: [{statusCode: [200, 201]}]}
      - post: {url: /x, json: {id: '{{ id }}', age: '{{ age }}'}, headers: {Authorization: 'Bearer {{ $processEnvironment.TOKEN }}'}}
      - think: '500ms'
  - engine: ws
    weight: 2
    flow:
      - connect: '{{ target }}/chat?n={{ name }}'
      - send: {hello: '{{ name }}'}
      - send: {payload: ping, match: {json: $.type, value: pong}}
      - wait: {capture: {json: $.n, as: n}}
      - loop: [{send: '{{ $loopCount }}'}, {think: 1}]
        count: 3
";

#[test]
fn artillery_scripts_are_understood() {
    let script = script(ARTILLERY).unwrap();
    let shown: Vec<String> = script.stages.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["warm 1m:10..50", "1m:5..5", "30s:pause"]);
    let conditions = script.objective.clone().unwrap().0;
    let wanted = [
        Condition::LatencyBelow(0.99, Bound::excluding(Span::from_millis(250))),
        Condition::ErrorsBelow(Bound::including(0.01)),
        Condition::RateAbove(Bound::excluding(10.0)),
    ];
    assert!(wanted.iter().all(|one| conditions.contains(one)) && conditions.len() == 3, "{conditions:?}");
    let [http, ws] = script.scenario.flows.as_slice() else { panic!() };
    assert_eq!((http.weight, ws.weight, script.scenario.targets.len()), (1, 2, 1));
    let [Step::Request(get), Step::Request(post), Step::Think(_)] = http.steps.as_slice() else { panic!("{http:?}") };
    assert_eq!((get.path.to_string(), get.redirects), ("/{{name}}?c={{city}}".to_owned(), 10));
    assert_eq!(post.body.as_ref().unwrap().to_string(), r#"{"id":{{id | json}},"age":{{age | json}}}"#);
    assert!(post.headers.iter().any(|(name, value)| name == "Authorization" && value.to_string() == "Bearer secret"));
    let kinds: Vec<&str> = ws
        .steps
        .iter()
        .map(|step| match step {
            Step::Connect(connect) => {
                assert_eq!((connect.path.to_string(), connect.subprotocols.len()), ("/chat?n={{name}}".to_owned(), 1));
                "connect"
            }
            Step::Send(_) => "send",
            Step::Expect(expect) => {
                assert!(expect.checks.iter().all(|check| check.strict));
                "expect"
            }
            Step::Loop(_) => "loop",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["connect", "send", "send", "expect", "expect", "loop"]);
    let local = script_of("f", ARTILLERY, Path::new(""), Some("local")).unwrap();
    assert_eq!((local.scenario.targets[0].url.as_str(), local.stages.len()), ("http://127.0.0.1:2", 1));
    assert!(script_of("f", ARTILLERY, Path::new(""), Some("other")).unwrap_err().contains("known: local"));
}

#[test]
fn what_artillery_can_and_genkai_cannot_is_refused_by_name() {
    let with = |config: &str, flow: &str| {
        format!(
            "config:\n  target: http://127.0.0.1:1\n  phases: [{{duration: 1, arrivalRate: 1}}]\n{config}scenarios:\n  - flow:\n{flow}"
        )
    };
    let get = "      - get: {url: /}\n";
    let refused = [
        (with("  processor: ./a.js\n", get), "processor"),
        (with("  plugins: {publish-metrics: []}\n", get), "publish-metrics"),
        (with("  plugins: {own: []}\n", get), "own"),
        (with("  engines: {playwright: {}}\n", get), "engines"),
        (with("  socketio: {}\n", get), "socketio"),
        (with("", "      - function: hello\n"), "function"),
        (with("", "      - get: {url: /, beforeRequest: x}\n"), "beforeRequest"),
        (with("", "      - get: {url: /, ifTrue: x}\n"), "ifTrue"),
        (with("", "      - get: {url: /, http2: true}\n"), "http2"),
        (with("", "      - get: {url: /, capture: {xpath: /a, as: b}}\n"), "xpath"),
        (with("", "      - loop: [{get: {url: /}}]\n        whileTrue: x\n"), "whileTrue"),
        (with("", "      - parallel: []\n"), "parallel"),
        (with("", "      - gte: {url: /}\n"), "gte"),
        (with("", "      - get: {url: '/{{ nothing }}'}\n"), "nothing"),
        (with("  ensure: {thresholds: [{vusers.session_length.p95: 1}]}\n", get), "vusers.session_length.p95"),
        (with("", get).replace("  - flow", "  - engine: playwright\n    flow"), "playwright"),
    ];
    for (text, name) in refused {
        let (said, place) = (script(&text).expect_err(&text), place(&text, name));
        let place = place.rsplit_once(':').unwrap().0.rsplit_once(':').unwrap();
        // A variable is refused where its text begins.
        let exact = name == "nothing" || said.starts_with(&format!("{}:{}:", place.0, place.1));
        assert!(
            exact && said.starts_with(place.0) && said.contains(&format!("`{name}")),
            "{text}\n{said}\nwanted {place:?}"
        );
    }
    let noted = script(&with("  statsInterval: 5\n", "      - get: {url: /}\n      - log: hello\n")).unwrap();
    assert_eq!(noted.notes.len(), 2, "{:?}", noted.notes);
    assert!(noted.notes.iter().any(|note| note.starts_with("f:8:9: `log`")), "{:?}", noted.notes);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is cut out of, or put into, a good file: an answer with a place, never a panic.
        #[test]
        fn damaged_files_have_answers(at in 0usize..2000, length in 0usize..40, put in "[ -~\n]{0,12}", which in 0usize..2) {
            let shop = std::fs::read_to_string(root().join("examples/shop.yaml")).unwrap();
            let text = [shop.as_str(), ARTILLERY][which];
            let from = at.min(text.len());
            let to = (from + length).min(text.len());
            let damaged = format!("{}{put}{}", &text[..from], &text[to..]);
            if let Err(said) = script_of("f", &damaged, &root().join("examples"), None) {
                prop_assert!(said.starts_with("f:") || said.contains(".csv:"), "{}", said);
            }
        }
    }
}
