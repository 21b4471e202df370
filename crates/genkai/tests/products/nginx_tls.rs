//! `genkai tune nginx` on a site as certbot leaves it: a plain listener that redirects, TLS behind it.

use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::event::{Event, What};
use genkai_model::finding::{Because, Evidence};
use genkai_model::limit::{Law, Origin};
use genkai_place::authority::{self, Key};

use crate::harness::judged::{only_cause, told};
use crate::harness::{Run, genkai, holds, machine};

/// What certbot's installer makes of a site with one `proxy_pass`.
const SITE: &str = "\
events { worker_connections 60; }
http {
    server {
        server_name shop.example;
        location / { proxy_pass http://192.0.2.1:8080; }
        listen [::]:443 ssl ipv6only=on; # managed by Certbot
        listen 443 ssl; # managed by Certbot
        ssl_certificate fullchain.pem; # managed by Certbot
        ssl_certificate_key /nonexistent/privkey.pem; # managed by Certbot
        ssl_session_cache shared:le_nginx_SSL:10m;
    }
    server {
        if ($host = shop.example) {
            return 301 https://$host$request_uri;
        } # managed by Certbot
        listen 80;
        listen [::]:80;
        server_name shop.example;
        return 404; # managed by Certbot
    }
}
";

#[test]
fn a_site_behind_a_redirect_to_tls_is_measured_there_without_its_key() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let users = authority::make_for(dir.path(), &["shop.example".to_owned()], Key::Rsa(2048)).unwrap();
    std::fs::rename(&users.certificate, dir.path().join("fullchain.pem")).unwrap();
    let file = dir.path().join("nginx.conf");
    std::fs::write(&file, SITE).unwrap();
    let run = told(
        genkai("tune nginx --backend embedded --users 80 --spawn-rate 20 --quick --pairs 0 --max-limits 1 --quiet")
            .args(["-H", "Host: shop.example", "--config"])
            .arg(&file),
    );
    let verdict = only_cause(&run, "nginx.worker_connections");
    assert_eq!(verdict.because(), Because::ProvedAndHolds, "{}", run.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SITE, "the user's file is as it was");
    let record = run.record();
    let rewrites = &record.head.as_ref().unwrap().rewrites;
    let of = |line: usize| rewrites.iter().find(|one| one.place == format!("{}:{line}", file.display())).unwrap();
    assert!(of(14).from.starts_with("return 301") && of(14).to.contains(":6, where it leads"), "{rewrites:#?}");
    assert!(of(8).to.ends_with("tls/certificate.pem") && of(9).to.ends_with("tls/key.pem"), "{rewrites:#?}");
    assert!(!rewrites.iter().any(|one| one.from.contains("not known")), "RSA as the user's is: {rewrites:#?}");
    let secured = verdict.trials[0].handshakes.as_ref().map(|seen| seen.full + seen.resumed);
    assert!(secured.is_some_and(|n| n >= 26), "as many as the users that were served: {secured:?}: {}", run.story());
    assert!(!holds(&run.out, "PRIVATE KEY"), "a key is in {}", run.out.display());
}

#[test]
fn what_handshakes_take_is_told_and_whether_sessions_are_resumed() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let users = authority::make_for(dir.path(), &["shop.example".to_owned()], Key::default()).unwrap();
    std::fs::rename(&users.certificate, dir.path().join("fullchain.pem")).unwrap();
    let file = dir.path().join("nginx.conf");
    let notes = |text: &str, more: &str| {
        std::fs::write(&file, text).unwrap();
        let load = "--users 3 --spawn-rate 3 --backend-time 1ms --hold 500ms --quick --pairs 0 --bisect 0 --quiet";
        let flags = format!("tune nginx --backend embedded {load} {more}");
        let run = told(genkai(&flags).args(["-H", "Host: shop.example", "--config"]).arg(&file));
        let text = |event: &Event| if let What::Note(note) = &event.what { Some(note.text.clone()) } else { None };
        run.record().remarks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    };
    let told = notes(SITE, "--new-connections");
    assert!(told.contains("for a full handshake alone") && told.contains("39 of 40 were resumed"), "{told}");
    let none =
        SITE.replace("ssl_session_cache shared:le_nginx_SSL:10m;", "ssl_session_cache off; ssl_session_tickets off;");
    let told = notes(&none, "--new-connections");
    assert!(told.contains("sessions are not resumed"), "{told}");
    assert!(!notes(SITE, "").contains("handshake alone"), "connections are kept");
}

/// A site with a key of RSA 4096 on one worker.
const COSTLY: &str = "\
worker_processes 1;
events { worker_connections 1024; }
http {
    server {
        server_name shop.example;
        listen 443 ssl;
        ssl_certificate fullchain.pem;
        ssl_certificate_key /nonexistent/privkey.pem;
        ssl_session_tickets off;
        location / { proxy_pass http://192.0.2.1:8080; }
    }
}
";

/// Runs it under new connections whose rate rises beyond what one core signs for.
fn costly(dir: &Path, more: &str) -> Run {
    let file = dir.join("nginx.conf");
    std::fs::write(&file, COSTLY).unwrap();
    let load = "--new-connections --rate 600 --ramp 6s --hold 1s --backend-time 2ms --timeout 10s";
    let flags =
        format!("tune nginx --backend embedded {load} --quick --pairs 0 --bisect 0 --quiet --max-limits 1 {more}");
    told(genkai(&flags).args(["-H", "Host: shop.example", "--objective", "p99 < 300ms", "--config"]).arg(&file))
}

#[test]
fn handshakes_that_use_the_processor_up_are_named_by_key_and_by_sessions() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let users = authority::make_for(dir.path(), &["shop.example".to_owned()], Key::Rsa(4096)).unwrap();
    std::fs::rename(&users.certificate, dir.path().join("fullchain.pem")).unwrap();
    let run = costly(dir.path(), "--no-resume");
    let verdict = only_cause(&run, "nginx.tls_key");
    assert_eq!(verdict.because(), Because::ProvedAndHolds, "{}", run.story());
    let (cause, change) = (&verdict.causes[0], &verdict.proposal[0].change);
    let origin = Origin::File { path: dir.path().join("nginx.conf"), line: 7 };
    assert_eq!((cause.limit.value.as_str(), &cause.limit.origin), ("RSA 4096", &origin));
    assert_eq!((change.setting.as_str(), change.to.as_str()), ("ssl_certificate", "ECDSA P-256"));
    let (predicted, seen) = (cause.predicted.rate.unwrap(), cause.broke.level);
    assert!(
        (predicted.low * 0.9..=predicted.high * 1.1).contains(&seen),
        "{predicted:?} predicted, {seen} seen: {}",
        run.story()
    );
    let spent = cause.evidence.iter().find_map(|e| match e {
        Evidence::Handshakes { rate, each, .. } => Some(rate * each),
        _ => None,
    });
    assert!(spent.is_some_and(|cores| (0.5..1.3).contains(&cores)), "{spent:?}: {}", run.story());
    assert!(run.record().end.as_ref().unwrap().diff.is_empty(), "no file says of which kind a key is");
    assert!(!holds(&run.out, "PRIVATE KEY"), "a key is in {}", run.out.display());
    // The same visitors come back, and are not known again.
    let verdict = only_cause(&costly(dir.path(), ""), "nginx.tls_sessions");
    let change = &verdict.proposal[0].change;
    assert_eq!((change.setting.as_str(), change.to.as_str()), ("ssl_session_cache", "shared:SSL:10m"));
    assert_eq!(verdict.because(), Because::ProvedAndHolds);
}

/// Control groups of this test's own (version 1), which are removed when it ends.
struct Group(Vec<PathBuf>);

impl Group {
    /// With so many hundredths of one core; none where none can be made.
    fn with_quota(percent: u32) -> Option<Group> {
        const PERIOD_US: u32 = 100_000;
        let name = format!("genkai-test-{}", std::process::id());
        let folders = ["cpu", "cpuacct"].map(|kind| Path::new("/sys/fs/cgroup").join(kind).join(&name));
        let group = Group(folders.into_iter().filter(|folder| std::fs::create_dir(folder).is_ok()).collect());
        let set = |file: &str, number: u32| std::fs::write(group.0.first()?.join(file), number.to_string()).ok();
        set("cpu.cfs_period_us", PERIOD_US)?;
        set("cpu.cfs_quota_us", PERIOD_US / 100 * percent)?;
        (group.0.len() == 2).then_some(group)
    }

    /// A command that runs in it.
    fn run(&self, command: &Command) -> Command {
        let enter: String =
            self.0.iter().map(|folder| format!("echo $$ > {}/cgroup.procs && ", folder.display())).collect();
        let mut inside = Command::new("sh");
        inside.args(["-c", &format!("{enter} exec \"$@\""), "sh"]).arg(command.get_program()).args(command.get_args());
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.0 {
            std::fs::remove_dir(folder).expect("nobody is left in it");
        }
    }
}

#[test]
fn a_quota_of_the_control_group_is_what_servers_and_handshakes_have_of_processor_time() {
    let _machine = machine();
    let Some(group) = Group::with_quota(60) else {
        return genkai_tidy::noted::skipped("no control group can be made here (version 1, as root)");
    };
    let dir = tempfile::tempdir().unwrap();
    let users = authority::make_for(dir.path(), &["shop.example".to_owned()], Key::Rsa(4096)).unwrap();
    std::fs::rename(&users.certificate, dir.path().join("fullchain.pem")).unwrap();
    let file = dir.path().join("nginx.conf");
    std::fs::write(&file, COSTLY).unwrap();
    let load = "--new-connections --no-resume --rate 20 --ramp 2s --hold 4s --backend-time 2ms --timeout 10s";
    let flags = format!("tune nginx --backend embedded {load} --quick --pairs 0 --bisect 0 --quiet");
    let mut command = genkai(&flags);
    command.args(["-H", "Host: shop.example", "--objective", "p99 < 2s", "--config"]).arg(&file);
    let run = told(&group.run(&command));
    let (story, verdict, record) = (run.story(), run.verdict(), run.record());
    let limits = &record.trials[0].limits.limits;
    let of = |id: &str| limits.iter().find(|limit| limit.id == id).unwrap_or_else(|| panic!("{id}: {story}"));
    // One statement of it, with its place.
    let place = group.0[0].display().to_string();
    let quota = of("machine.cpu_quota");
    assert!(!limits.iter().any(|limit| limit.id == "machine.servers_cpu"), "the quota is shorter");
    assert_eq!((quota.value.as_str(), &quota.law), ("0.6", &Law::Cpu { cores: 0.6 }));
    assert!(matches!(&quota.origin, Origin::Machine(text) if text.ends_with(&place)), "{:?}", quota.origin);
    let (nginx, key) = (of("nginx.cpu"), of("nginx.tls_key"));
    assert_eq!((&nginx.law, &nginx.remedy), (&Law::Cpu { cores: 0.6 }, &None));
    assert!(nginx.formula.contains("of that 0.6 cores at most: the quota of the control group"), "{}", nginx.formula);
    assert!(nginx.formula.contains(&place), "{}", nginx.formula);
    assert!(
        matches!(key.law, Law::Handshakes { cores: 0.6, least, most } if least > 0.0 && most > 2.0 * least),
        "{key:?}"
    );
    assert!(key.formula.starts_with("0.6 cores (the quota of the control group"), "{}", key.formula);
    // Of the cores alone nothing is foretold that the quota does not let through.
    let rate = |id: &str| verdict.predictions.iter().find(|one| one.limit == id).and_then(|one| one.rate);
    let Law::Handshakes { least, most, .. } = key.law else { unreachable!() };
    let handshakes = rate("nginx.tls_key").unwrap_or_else(|| panic!("{story}"));
    assert!((handshakes.low - 0.6 / most).abs() < 1.0 && (handshakes.high - 0.6 / least).abs() < 1.0, "{story}");
    assert_eq!((rate("nginx.cpu"), rate("machine.cpu_quota")), (None, None), "{story}");
    let used = record.trials[0].samples.iter().filter_map(|(_, one)| one.metrics.get("kernel.group_cpu")).copied();
    assert!(used.fold(0.0, f64::max) > 0.02, "{story}");
}
