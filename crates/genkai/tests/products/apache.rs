//! Each cause on a real Apache: the right one is named, and none of the others.

use genkai_model::error::ErrorKind;
use genkai_model::finding::{Answer, Because, Outcome};

use genkai_place::authority;

use crate::harness::judged::{lifted, only_cause, proved, told};
use crate::harness::servers::scripted;
use crate::harness::{genkai, machine, run};

#[test]
fn max_request_workers_of_worker() {
    let _machine = machine();
    let run = told(&genkai(
        "tune apache --set MaxRequestWorkers=25 --users 50 --spawn-rate 20 --backend-time 200ms --hold 3s --quick --pairs 0 --quiet",
    ));
    let verdict = lifted(&run, "apache.MaxRequestWorkers", "MaxRequestWorkers");
    let cause = &verdict.causes[0];
    assert_eq!(cause.limit.value, "25");
    let predicted = cause.predicted.clients.unwrap();
    assert_eq!((predicted.low, predicted.high), (25.0, 25.0), "{}", run.story());
    assert!((20.0..=34.0).contains(&cause.broke.level), "{}", run.story());
    assert!(verdict.proposal[0].change.to.parse::<u32>().unwrap() >= 50, "{}", run.story());
}

#[test]
fn max_request_workers_of_event_in_the_users_file() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("httpd.conf");
    let modules = "/usr/lib/apache2/modules";
    let config = format!(
        "# ours\nLoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         LoadModule proxy_module {modules}/mod_proxy.so\nLoadModule proxy_http_module {modules}/mod_proxy_http.so\n\
         LoadModule env_module {modules}/mod_env.so\nSetEnv rate-limit 400\n\
         <IfModule event.c>\n  ServerLimit 1\n  MaxRequestWorkers   25   \n</IfModule>\nKeepAlive Off\nListen 8080\n\
         <VirtualHost *:8080>\n  ProxyPass / http://127.0.0.1:9/ \\\n    retry=0\n</VirtualHost>\n"
    );
    std::fs::write(&file, &config).unwrap();
    // Nobody is refused: with KeepAlive Off all wait in one queue, served in order. 60 users for 25 workers wait 2.4 s in all, whatever
    // the machine's speed. (Connections that are kept are spread over event's children, and some are cut, as it happens.)
    let run = told(
        genkai("tune apache --backend embedded --users 60 --spawn-rate 20 --backend-time 1s --quick --pairs 0 --quiet")
            .args(["--objective", "p99 < 1.6s"])
            .arg("--config")
            .arg(&file),
    );
    let verdict = lifted(&run, "apache.MaxRequestWorkers", "MaxRequestWorkers");
    let predicted = verdict.causes[0].predicted.clients.unwrap();
    assert_eq!((predicted.low, predicted.high), (25.0, 25.0), "{}", run.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), config, "the user's file is as it was");
    let end = run.record().end.unwrap();
    assert!(
        matches!(&end.files[..], [one] if one.copy.is_some()),
        "a `SetEnv` of no secret keeps no file: {:?}",
        end.files
    );
    let diff = end.diff;
    for line in ["-  MaxRequestWorkers   25   \n", "+  MaxRequestWorkers   75   \n"] {
        assert!(diff.contains(line), "{diff}");
    }
    for line in ["-  ServerLimit 1\n", "+  ServerLimit 3\n"] {
        assert!(diff.contains(line), "it is brought along: {diff}");
    }
}

#[test]
fn healthy_needs_no_change() {
    let _machine = machine();
    let run = told(&genkai(
        "tune apache --set mpm=prefork --set MaxRequestWorkers=150 --users 40 --spawn-rate 20 --backend-time 200ms --quick --quiet",
    ));
    assert_eq!(run.code, Some(0), "{}", run.story());
    let verdict = run.verdict();
    assert_eq!((verdict.outcome(), verdict.must_change()), (Outcome::Holds, Answer::No), "{}", run.story());
    assert!(verdict.causes.is_empty() && verdict.proposal.is_empty(), "{}", run.story());
}

#[test]
fn limit_request_body() {
    let _machine = machine();
    // A static origin: what is passed to a backend is not limited.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(dir.path().join("index.html"), "hello").unwrap();
    let file = dir.path().join("httpd.conf");
    let modules = "/usr/lib/apache2/modules";
    let config = format!(
        "LoadModule mpm_worker_module {modules}/mod_mpm_worker.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         Listen 8080\nUser www-data\nGroup www-data\nDocumentRoot {root}\nLimitRequestBody 8192\n\
         <Directory {root}>\n  Require all granted\n</Directory>\n",
        root = dir.path().display()
    );
    std::fs::write(&file, config).unwrap();
    let run = told(
        genkai("tune apache --path /index.html --body-size 20k --users 5 --spawn-rate 10 --think 50ms --hold 2s --quick --quiet")
            .args(["--objective", "errors < 0.1%, p99 < 5s"])
            .arg("--config")
            .arg(&file),
    );
    // Here a trial is short: the pairs of the product's proof are seen here.
    let verdict = proved(&run, "apache.LimitRequestBody", "LimitRequestBody");
    let errors = &verdict.causes[0].broke.errors;
    assert!(errors.iter().any(|e| e.kind == ErrorKind::Status413), "{}", run.story());
}

#[test]
fn a_full_backend_pool_is_not_apache() {
    let _machine = machine();
    let run = told(genkai(
        "tune apache --set MaxRequestWorkers=200 --users 60 --spawn-rate 20 --backend-time 100ms --backend-workers 5 --quick --quiet",
    )
    .args(["--objective", "errors < 0.1%, p99 < 500ms"]));
    assert_eq!(run.code, Some(1), "{}", run.story());
    let verdict = only_cause(&run, "backend.workers");
    assert_eq!(verdict.because(), Because::BackendIsLimit, "{}", run.story());
    assert_eq!(verdict.must_change(), Answer::No, "no setting of Apache helps\n{}", run.story());
}

#[test]
fn a_short_listen_backlog() {
    let _machine = machine();
    let run = told(
        genkai(
            "tune apache --set ListenBacklog=4 --set MaxRequestWorkers=400 --set StartServers=12 --users 250 \
         --spawn-rate 100000 --backend-time 20ms --new-connections --quick --pairs 0 --quiet",
        )
        .args(["--objective", "errors < 0.1%, p99 < 700ms"]),
    );
    lifted(&run, "apache.ListenBacklog", "ListenBacklog");
}

#[test]
fn a_wrong_setting_is_refused_before_anything_starts() {
    for (flags, says) in [
        ("--set MaxRequestWorker=3", "did you mean MaxRequestWorkers"),
        ("--set KeepAlive=perhaps", "On or Off"),
        ("--set worker_connections=512", "unknown Apache setting"),
    ] {
        let run = run(&genkai(&format!("tune apache {flags} --quiet")));
        assert_eq!(run.code, Some(2), "{}", run.story());
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert!(!run.out.exists());
    }
}

/// A second step through the same Apache by TLS works in the copy as in the user's: what the step is held against is the user's certificate, in whose place the
/// copy shows another, at another address. The certificate of another server is held against what it was.
#[test]
fn a_step_through_itself_that_it_verifies_works_in_the_copy() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.02");
    let dir = tempfile::tempdir().unwrap();
    let papers = authority::make(dir.path()).unwrap();
    let (authority, both) = (papers.authority.display(), papers.both.display());
    let modules = "/usr/lib/apache2/modules";
    let load: String = ["mpm_event", "authz_core", "proxy", "proxy_http", "ssl"]
        .map(|name| format!("LoadModule {name}_module {modules}/mod_{name}.so\n"))
        .concat();
    let verified = format!("SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyCACertificateFile {authority}\n");
    let asks = format!("SSLVerifyClient require\nSSLCACertificateFile {authority}\n");
    for (step, inner) in [
        (format!("{verified}ProxyPass / https://127.0.0.1:8443/\n"), ""),
        (
            format!("{verified}SSLProxyMachineCertificateFile {both}\nProxyPass / https://localhost:8443/ max=30\n"),
            asks.as_str(),
        ),
    ] {
        let file = dir.path().join("httpd.conf");
        let text = format!(
            "{load}Listen 127.0.0.1:80\nListen 127.0.0.1:8443\nUser www-data\nGroup www-data\n<VirtualHost 127.0.0.1:80>\n{step}</VirtualHost>\n\
             <VirtualHost 127.0.0.1:8443>\nSSLEngine on\nSSLCertificateFile {both}\nSSLCertificateKeyFile {both}\n{inner}\
             ProxyPass / http://{server}/\n</VirtualHost>\n"
        );
        std::fs::write(&file, text).unwrap();
        let run = told(genkai("tune apache --users 5 --spawn-rate 20 --quick --quiet --config").arg(&file));
        assert_eq!((run.code, run.verdict().because()), (Some(0), Because::ObjectiveHolds), "{}", run.story());
    }
}
