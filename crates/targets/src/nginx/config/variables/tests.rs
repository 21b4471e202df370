use std::path::Path;

use super::*;

fn value(http: &str, server: &str, text: &str, visitor: Option<Ipv4Addr>) -> Value {
    let text_of = format!("events {{}}\nhttp {{ {http} server {{ listen 80; {server} location / {{ }} }} }}\n");
    let config = Config::of_text(Path::new("/n.conf"), text_of.into(), Path::new("/usr")).unwrap();
    let route = config.route(Some("localhost"), "/d/x?a=1&B=2").unwrap();
    let stage = route.ways[0].looked[0].clone();
    stage.variables.of_visitor(visitor).value(text)
}

fn of(text: &str) -> Option<String> {
    value("", "", text, None).constant().map(str::to_owned)
}

#[test]
fn a_request_tells_its_own_parts() {
    assert_eq!(of("$scheme://${host}$uri$is_args$args").as_deref(), Some("http://localhost/d/x?a=1&B=2"));
    assert_eq!([of("$arg_a"), of("$arg_b"), of("$arg_c"), of("$https")].map(Option::unwrap), ["1", "2", "", ""]);
    assert_eq!(of("$http_x"), None);
    assert_eq!(value("", "", "$request_method", None).texts, None, "any method may be asked for");
}

#[test]
fn what_is_set_is_known_and_what_is_not_reached_is_empty() {
    let set = |server: &str| value("", server, "$k", None).constant().map(str::to_owned);
    assert_eq!(set("set $k a$uri;").as_deref(), Some("a/d/x"));
    assert_eq!(set("if ($scheme = https) { set $k b; }").as_deref(), Some(""));
    assert_eq!(set("set $k a; set $k $http_x;"), None);
}

const LIST: &str = "geo $limited { default 1; 127.0.0.0/8 0; 127.0.0.9 1; }\n\
                    map $limited $limit_key { 0 \"\"; 1 $binary_remote_addr; }";

#[test]
fn a_geo_is_known_of_a_known_visitor_and_else_one_of_its_values() {
    let of = |key: &str, ip: Option<[u8; 4]>| value(LIST, "", key, ip.map(Ipv4Addr::from));
    assert_eq!(of("$limited", None).texts.unwrap(), ["0", "1"]);
    assert_eq!(of("$limit_key", Some([127, 0, 0, 1])).constant(), Some(""));
    assert!(of("$limit_key", Some([127, 0, 0, 9])).full);
    assert!(!of("$limit_key", None).full);
}

#[test]
fn what_differs_from_request_to_request_is_not_steady() {
    let of = |http: &str| value(http, "", "$b", None);
    let split = of("split_clients \"$request_id\" $b { 50% x; * y; }");
    assert_eq!((split.steady, split.full, split.texts.unwrap().len()), (false, true, 2));
    assert!(of("split_clients $remote_addr $b { 50% x; * y; }").steady);
    assert!(of("split_clients $request_id $b { 50% x; * x; }").steady, "it makes no difference");
    assert!(of("map $http_a $b { default x; a y; }").steady);
    assert_eq!(of("map $uri $b { default x; /d/x z; }").constant(), Some("z"));
    assert_eq!(of("map $b $b { default $b; }").constant(), None);
}

#[test]
fn names_have_no_case_and_the_query_can_be_set() {
    assert_eq!(of("$URI${Arg_A}").as_deref(), Some("/d/x1"));
    let set = |server: &str, text: &str| value("", server, text, None).constant().map(str::to_owned);
    assert_eq!(set("set $Key a;", "$kEY").as_deref(), Some("a"));
    assert_eq!(set("set $args a=fixed;", "$arg_a$is_args$query_string").as_deref(), Some("fixed?a=fixed"));
    assert_eq!(set("set $args $http_x;", "$arg_a"), None);
    assert_eq!(set("set $arg_a own;", "$arg_a").as_deref(), Some("own"));
}

#[test]
fn what_an_expression_has_found_is_that_of_the_last_one() {
    let set = |server: &str| value("", server, "$k", None).constant().map(str::to_owned);
    let first = "if ($uri ~ ^/(.)) { set $a x; }";
    assert_eq!(set(&format!("{first} set $k $1;")).as_deref(), Some("d"));
    assert_eq!(set(&format!("{first} if ($arg_a ~ (.)) {{ set $k $1; }}")).as_deref(), Some("1"));
    assert_eq!(set(&format!("{first} if ($arg_a ~ (z)) {{ set $a y; }} set $k $1;")).as_deref(), Some("d"));
    assert_eq!(set(&format!("{first} if ($http_x ~ (.)) {{ set $a y; }} set $k $1;")), None);
    assert_eq!(set("set $k a; if ($uri ~ (?<k>x)) { set $a y; }"), None, "a group with a name");
}

#[test]
fn an_if_compares_with_the_empty_text_and_tests_files_by_name() {
    let set = |condition: &str| {
        let server = format!("set $k no; if ({condition}) {{ set $k yes; }}");
        value("", &server, "$k", None).constant().map(str::to_owned)
    };
    for condition in ["$arg_c = \"\"", "$arg_a != ''", " $arg_c = \"\" ", "$arg_a = 1 ", "$arg_c = $arg_d", "!-e $uri"]
    {
        assert_eq!(set(condition).as_deref(), Some("yes"), "{condition}");
    }
    for condition in ["$arg_c != \"\"", "$arg_a = ''", "$arg_a = \")\"", "-d $uri", "$arg_c"] {
        assert_eq!(set(condition).as_deref(), Some("no"), "{condition}");
    }
}

#[test]
fn values_are_bounded_in_length_and_in_work() {
    let doubled = "set $a $a$a; ".repeat(40);
    assert_eq!(value("", &format!("set $a xy; {doubled}"), "$a", None).constant(), None);
    let map = |at: usize| {
        let rows: String = (0..12).map(|row| format!("{row} $m{}; ", at + 1)).collect();
        format!("map $http_x{at} $m{at} {{ {rows} }} ")
    };
    let maps: String = (0..9).map(map).collect();
    let begun = std::time::Instant::now();
    assert_eq!(value(&format!("{maps} map $http_y $m9 {{ default a; }}"), "", "$m0", None).constant(), None);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}
