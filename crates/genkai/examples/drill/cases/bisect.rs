//! Directives of which genkai has no rule, among more than a hundred that do no harm: they are found by leaving directives out. What must be
//! named is what stands on the line. Some fail each request, some only under load.

use super::Behind::{Origin, Two};
use super::Case;

/// A few users before a backend that is fast, and a bound that it keeps by far.
const FLAGS: &str = "--users 20 --spawn-rate 20 --backend embedded --backend-time 10ms";
const BOUND: &str = "errors < 0.1%, p99 < 800ms";

/// So many lines of one kind, `{}` their number.
fn filler(many: usize, line: &str) -> String {
    (0..many).map(|n| line.replace("{}", &n.to_string())).collect::<Vec<_>>().join("\n")
}

fn case(product: &'static str, name: &str, config: String, lines: &[&'static str]) -> Case {
    let why = if lines.len() > 1 { "without any one of them it holds" } else { "" };
    let fault = format!("`{}` among a hundred others", lines[0]);
    Case::of(product, format!("bisect-{product}-{name}"), fault)
        .flags(FLAGS)
        .objective(BOUND)
        .config(config)
        .either(lines, why)
        .off("it is found without a formula")
}

pub(super) fn cases() -> Vec<Case> {
    [nginx(), haproxy(), apache(), caddy(), squid(), varnish(), loaded()].into_iter().flatten().collect()
}

/// One request alone is answered well: only a load shows what the directive does.
fn loaded() -> Vec<Case> {
    let counted = "access_by_lua_block { if ngx.shared.busy:incr('now', 1, 0) > 10 then ngx.exit(503) end }";
    let allowed = "location = /allowed { internal; proxy_pass http://{second}; }";
    let (few, many) = ("acl crowded be_conn(b) gt 10", "use_backend nowhere if crowded");
    let lines = format!("{few}\n{many}");
    let flags = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let alone = format!(
        "events {{ }}\nhttp {{ server {{ listen 8080; location / {{\nauth_request /allowed;\nproxy_pass http://{{backend}};\n}}\n{allowed}\n}} }}\n"
    );
    let embedded = flags("--users 40 --spawn-rate 10 --backend embedded --backend-time 100ms");
    let auth = of_nginx("auth-request-loaded", ("", "auth_request /allowed;", allowed), &["auth_request /allowed;"]);
    let haproxy = of_haproxy("use-backend-loaded", ("", &lines, ""), &[many]);
    let counts = ("lua_shared_dict busy 1m;", counted, "log_by_lua_block { ngx.shared.busy:incr('now', -1) }");
    vec![
        Case {
            flags: flags("--users 40 --spawn-rate 10"),
            config: auth.config.as_ref().map(|text| text.replace("127.0.0.1:9;", "{backend};")),
            ..auth
        }
        .behind(Two("--service-time 10ms", Some("--service-time 100ms --workers 1"))),
        Case { flags: embedded.clone(), ..of_nginx("lua-counts", counts, &[counted]) },
        Case {
            flags: embedded,
            config: haproxy
                .config
                .as_ref()
                .map(|text| format!("{text}backend nowhere\nserver down 127.0.0.1:9 disabled\n")),
            ..haproxy
        },
        Case {
            flags: flags("--users 40 --spawn-rate 10"),
            ..case("nginx", "auth-request-few", alone, &["auth_request /allowed;"])
        }
        .behind(Two("--service-time 10ms", Some("--service-time 100ms --workers 1"))),
    ]
}

/// nginx with these lines in `http` and in its location, and another location.
fn of_nginx(name: &str, (http, location, other): (&str, &str, &str), lines: &[&'static str]) -> Case {
    let config = format!(
        "load_module modules/ndk_http_module.so;\nload_module modules/ngx_http_lua_module.so;\nworker_processes 1;\nevents {{ \
         worker_connections 1024; }}\nhttp {{\n{http}\n{}\nserver {{\nlisten 8080;\n{}\nlocation / {{\n{}\n{location}\n{}\nproxy_pass \
         http://127.0.0.1:9;\n}}\n{other}\n}}\n}}\n",
        filler(15, "proxy_hide_header X-Hidden-{};"),
        filler(25, "set $harmless_{} {};"),
        filler(35, "add_header X-Before-{} {};"),
        filler(35, "add_header X-After-{} {};")
    );
    case("nginx", name, config, lines)
}

fn nginx() -> Vec<Case> {
    let within = |name: &str, line: &'static str| of_nginx(name, ("", line, ""), &[line]);
    let map = "map $arg_fast $pace { default 4k; yes 0; }";
    let geo = "geo $pace { default 0; 127.0.0.0/8 4k; }";
    let asked = "location = /allowed { internal; content_by_lua_block { ngx.sleep(2) ngx.exit(200) } }";
    vec![
        within("lua-exit", "access_by_lua_block { ngx.exit(503) }"),
        within("lua-sleep", "access_by_lua_block { ngx.sleep(2) }"),
        within("lua-rewrite", "rewrite_by_lua_block { ngx.exit(429) }"),
        within("lua-header", "header_filter_by_lua_block { ngx.status = 502 }"),
        within("limit-rate", "limit_rate 4k;"),
        within("limit-rate-variable", "set $limit_rate 4k;"),
        within("proxy-limit-rate", "proxy_limit_rate 4k;"),
        within("proxy-bind", "proxy_bind 192.0.2.1;"),
        of_nginx("limit-rate-map", (map, "limit_rate_after 1k;\nlimit_rate $pace;", ""), &["limit_rate $pace;"]),
        of_nginx("limit-rate-geo", (geo, "limit_rate $pace;", ""), &["limit_rate $pace;"]),
        of_nginx("auth-request-slow", ("", "auth_request /allowed;", asked), &["auth_request /allowed;", asked]),
    ]
}

/// HAProxy with these lines in `global`, its frontend and its backend.
fn of_haproxy(name: &str, (global, front, back): (&str, &str, &str), lines: &[&'static str]) -> Case {
    let config = format!(
        "global\n{global}\ndefaults\nmode http\ntimeout connect 1s\ntimeout client 20s\ntimeout server 20s\nfrontend f\nbind \
         :80\n{}\n{front}\n{}\ndefault_backend b\nbackend b\n{}\n{back}\nserver s 127.0.0.1:9\n",
        filler(35, "http-request set-var(txn.before{}) str(x)"),
        filler(35, "http-request set-var(txn.after{}) str(x)"),
        filler(35, "http-response set-header X-Harmless-{} x")
    );
    case("haproxy", name, config, lines)
}

fn haproxy() -> Vec<Case> {
    let load = "lua-load {dir}/slow.lua";
    let slow = "core.register_action('slow', { 'http-req' }, function(txn) core.msleep(2000) end)\n";
    let late = "core.register_action('late', { 'http-res' }, function(txn) core.msleep(2000) end)\n";
    vec![
        of_haproxy("lua-sleep", (load, "http-request lua.slow", ""), &["http-request lua.slow"])
            .beside("slow.lua", slow),
        of_haproxy("set-status", ("", "", "http-response set-status 503"), &["http-response set-status 503"]),
        of_haproxy("lua-answer", (load, "", "http-response lua.late"), &["http-response lua.late"])
            .beside("slow.lua", late),
        of_haproxy(
            "after-response",
            ("", "", "http-after-response set-status 502"),
            &["http-after-response set-status 502"],
        ),
    ]
}

/// Apache with these modules and lines.
fn of_apache(name: &str, modules: &[&str], within: &str, lines: &[&'static str]) -> Case {
    let always = ["mpm_event", "authz_core", "proxy", "proxy_http", "headers", "env"];
    let load = |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so");
    let load: Vec<String> = always.iter().chain(modules).map(load).collect();
    let config = format!(
        "{}\nUser www-data\nGroup www-data\nListen 80\n{}\n{within}\n{}\nProxyPass / http://127.0.0.1:9/\n",
        load.join("\n"),
        filler(55, "Header set X-Before-{} x"),
        filler(50, "SetEnv AFTER_{} x")
    );
    case("apache", name, config, lines)
}

fn apache() -> Vec<Case> {
    let rate = ["SetOutputFilter RATE_LIMIT", "SetEnv rate-limit 4"];
    let slow = ["ExtFilterDefine slow cmd=\"/bin/sh -c 'sleep 2; cat'\"", "SetOutputFilter slow"];
    let hook = "LuaHookFixups {dir}/slow.lua slow";
    let lua = "function slow(r)\n  os.execute('sleep 2')\n  return apache2.DECLINED\nend\n";
    vec![
        of_apache("rate-limit", &["ratelimit"], &rate.join("\n"), &rate),
        of_apache("ext-filter", &["ext_filter"], &slow.join("\n"), &slow),
        of_apache("proxy-block", &[], "ProxyBlock 127.0.0.1", &["ProxyBlock 127.0.0.1"]),
        of_apache(
            "allow-methods",
            &["allowmethods"],
            "<Location />\nAllowMethods POST\n</Location>",
            &["AllowMethods POST"],
        ),
        of_apache("lua", &["lua"], hook, &[hook]).beside("slow.lua", lua),
    ]
}

/// Caddy with these lines in its site, and among the parameters of what passes requests on.
fn of_caddy(name: &str, (site, proxy): (&str, &str), lines: &[&'static str]) -> Case {
    let config = format!(
        "{{\nservers {{\ntimeouts {{\nread_header 10s\n}}\n}}\n}}\n(harmless) {{\n{}\n}}\nhttp://:80 {{\nimport harmless\n{site}\n{}\nreverse_proxy \
         {{backend}} {{\n{}\n{proxy}\n}}\n}}\n",
        filler(40, "header X-Before-{} {}"),
        filler(40, "request_header X-After-{} x"),
        filler(25, "header_up X-Up-{} x")
    );
    let own = case("caddy", name, config, lines);
    let flags = "--users 20 --spawn-rate 20".split_whitespace().map(str::to_owned).collect();
    Case { flags, ..own }.behind(Origin("--service-time 10ms"))
}

fn caddy() -> Vec<Case> {
    let old = "@old not header X-Version *";
    let answered = format!("{old}\nrespond @old \"gone\" 500");
    let handled = format!("{old}\nhandle @old {{\nheader X-Old yes\nerror 500\n}}");
    let within = |name: &str, line: &'static str| of_caddy(name, ("", line), &[line]);
    let transport = |name: &str, line: &'static str| {
        of_caddy(name, ("", &format!("transport http {{\ncompression off\n{line}\n}}")), &[line])
    };
    vec![
        within("replace-status", "replace_status 503"),
        of_caddy("error", ("error 503", ""), &["error 503"]),
        of_caddy("respond", (&answered, ""), &["respond @old \"gone\" 500"]),
        of_caddy("handle", (&handled, ""), &["handle @old {"]),
        transport("max-response-header", "max_response_header 16"),
    ]
}

/// Squid with these lines.
fn of_squid(name: &str, line: &'static str) -> Case {
    let config = format!(
        "http_port 80 accel defaultsite=localhost no-vhost\ncache_peer 127.0.0.1 parent 9 0 no-query no-digest originserver name=o\nhttp_access allow \
         all\ncache deny all\n{}\n{line}\n{}\n",
        filler(60, "request_header_add X-Before-{} x"),
        filler(60, "reply_header_add X-After-{} x")
    );
    case("squid", name, config, &[line])
}

fn squid() -> Vec<Case> {
    vec![
        of_squid("reply-header-max-size", "reply_header_max_size 100 bytes"),
        of_squid("request-header-max-size", "request_header_max_size 30 bytes"),
    ]
}

/// Varnish with these statements in what it does with requests, and with answers.
fn of_varnish(name: &str, (asked, answered): (&str, &str), lines: &[&'static str]) -> Case {
    let config = format!(
        "vcl 4.1;\nbackend default {{ .host = \"127.0.0.1\"; .port = \"9\"; }}\nsub vcl_recv {{\n{}\n{asked}\nreturn (pass);\n}}\nsub vcl_deliver \
         {{\n{}\n{answered}\n}}\n",
        filler(55, "unset req.http.X-Before-{};"),
        filler(55, "unset resp.http.X-After-{};")
    );
    case("varnish", name, config, lines)
}

fn varnish() -> Vec<Case> {
    let old = "if (!req.http.X-Version) {";
    vec![
        of_varnish("status", ("", "set resp.status = 503;"), &["set resp.status = 503;"]),
        of_varnish("synth", (&format!("{old}\nreturn (synth(500));\n}}"), ""), &[old]),
    ]
}
