//! The backend's own limits. None of them is a setting of the product under test, so none has a remedy that genkai could
//! apply; what to change is said in words.

use std::time::Duration;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Origin, Strength, Symptom};

use super::evidence::{self, log};
use super::lifecycle::Cost;
use super::settings::{LISTEN_BACKLOG, Settings};
use crate::limits::{errors, grew, log as said, reached, reached_of};

/// Connections the pool's accept queue holds: `min(backlog, net.core.somaxconn) + 1` (inet_csk_listen_start and
/// sk_acceptq_is_full in Linux: a queue is full when it is longer than its cap).
pub(super) fn backlog(somaxconn: u32) -> u32 {
    LISTEN_BACKLOG.min(somaxconn) + 1
}

/// All limits, with the cost of a request as measured while warming.
pub(super) fn all(settings: &Settings, cost: Cost, somaxconn: u32) -> Vec<Limit> {
    vec![children(settings, cost, somaxconn), accept_queue(somaxconn), connections(settings, cost), cpu(settings, cost)]
}

/// Requests a second that the pool's children can answer, if processors keep up.
fn pool_rate(settings: &Settings, cost: Cost) -> f64 {
    f64::from(settings.children) / seconds(cost.service)
}

/// Requests a second that the processors can answer, if children keep up.
fn processor_rate(settings: &Settings, cost: Cost) -> f64 {
    settings.processors() / seconds(cost.cpu)
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64().max(1e-6)
}

fn children(settings: &Settings, cost: Cost, somaxconn: u32) -> Limit {
    let workers = f64::from(settings.children);
    let (pool, processors) = (pool_rate(settings, cost), processor_rate(settings, cost));
    // Where the processors cannot feed all children, the pool fills up because each child waits for its processor: the
    // same signs, another cause, and more children would not help.
    let exhausted = if pool < processors { Strength::Decisive } else { Strength::Consistent };
    let full = if pool < processors { Strength::Supports } else { Strength::Consistent };
    Limit {
        value: settings.children.to_string(),
        origin: Origin::Given,
        caps:
            "requests PHP works on at once; to lift it, raise pm.max_children of the backend's php-fpm pool, as far as \
               its processors and memory reach"
                .to_owned(),
        law: Law::Workers {
            workers,
            queue: Some(f64::from(backlog(somaxconn))),
            service: Some(cost.service.as_secs_f64()),
            wait: None,
        },
        formula: format!(
            "{workers} children / {:.0} ms a request = {pool:.0} requests/s at most (its processors: {processors:.0})",
            seconds(cost.service) * 1e3,
        ),
        source: "php.net/manual/install.fpm.configuration#pm.max-children; Little's law".to_owned(),
        signatures: vec![
            said(log::MAX_CHILDREN, exhausted),
            grew(evidence::EXHAUSTED, exhausted),
            reached_of(metric::BACKEND_BUSY, metric::BACKEND_WORKERS, 1.0, full),
            reached(metric::BACKEND_QUEUED, 1.0, full),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
        ..limit("backend.php_fpm.max_children", "pm.max_children")
    }
}

fn accept_queue(somaxconn: u32) -> Limit {
    let value = f64::from(backlog(somaxconn));
    Limit {
        value: LISTEN_BACKLOG.to_string(),
        origin: Origin::Default("php-fpm: FPM_BACKLOG_DEFAULT, sapi/fpm/fpm/fpm_sockets.h".to_owned()),
        caps: "requests that wait for a PHP child; to lift it, raise listen.backlog of the backend's pool and \
               net.core.somaxconn (more children are the better answer)"
            .to_owned(),
        law: Law::Backlog { value },
        formula: format!("min({LISTEN_BACKLOG}, net.core.somaxconn {somaxconn}) + 1 = {value}"),
        source: "listen(2); php.net/manual/install.fpm.configuration#listen-backlog".to_owned(),
        signatures: vec![
            said(log::BACKLOG, Strength::Decisive),
            reached(metric::BACKEND_QUEUED, value - 1.0, Strength::Supports),
            grew(metric::LISTEN_OVERFLOWS, Strength::Consistent),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Status502, ErrorKind::Status504, ErrorKind::Timeout], slow: true },
        ..limit("backend.php_fpm.backlog", "listen.backlog")
    }
}

fn connections(settings: &Settings, cost: Cost) -> Limit {
    let all = settings.max_connections;
    let origin = if settings.default_connections() {
        Origin::Default("MariaDB: mariadb.com/kb/en/server-system-variables/#max_connections".to_owned())
    } else {
        Origin::Given
    };
    Limit {
        value: all.to_string(),
        origin,
        caps: "connections to the database, one a busy PHP child; to lift it, raise MariaDB's max_connections"
            .to_owned(),
        // One is the observer's. A connection too many is refused, not queued. Children that are fewer than the
        // connections never ask for more of them, whatever the load.
        law: if settings.children < all {
            Law::Unknown
        } else {
            let workers = f64::from(all - 1);
            Law::Workers { workers, queue: Some(0.0), service: Some(cost.service.as_secs_f64()), wait: None }
        },
        formula: format!(
            "{all} connections - 1 of genkai's; never reached while children ({}) are fewer",
            settings.children
        ),
        source: "mariadb.com/kb/en/server-system-variables/#max_connections; WordPress opens one connection a request \
                 (wp-includes/class-wpdb.php)"
            .to_owned(),
        signatures: vec![
            grew(evidence::CONNECTIONS_REFUSED, Strength::Decisive),
            reached_of(evidence::CONNECTIONS, evidence::MAX_CONNECTIONS, 0.98, Strength::Supports),
        ],
        symptom: errors(&[ErrorKind::Status500]),
        ..limit("backend.mariadb.max_connections", "max_connections")
    }
}

fn cpu(settings: &Settings, cost: Cost) -> Limit {
    let (cores, all) = (settings.processors(), settings.cores as f64);
    let quota = if cores < all { " (the quota of the control group)" } else { "" };
    // Not all of it: the kernel's own work and scheduling take a share that is nobody's. A quota says by itself that it is used up.
    let full = (cores >= all).then(|| reached(evidence::CPU, 0.9 * cores, Strength::Decisive));
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine("cores the backend may run on (sched_getaffinity)".to_owned()),
        caps: "processor time of php-fpm, MariaDB and the web server together; no setting lifts it: fewer or cheaper \
               requests (a page cache), or more cores"
            .to_owned(),
        law: Law::Cpu { cores },
        formula: format!(
            "{cores} cores{quota} / {:.0} ms of processor time a request = {:.0} requests/s at most",
            seconds(cost.cpu) * 1e3,
            processor_rate(settings, cost)
        ),
        source: "sched_setaffinity(2); the time as measured on requests in a row".to_owned(),
        signatures: Vec::from_iter(full),
        symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
        ..limit("backend.cpu", "cores")
    }
}

/// A limit of the backend by name.
fn limit(id: &str, setting: &str) -> Limit {
    Limit::named(id, "backend", setting)
}

#[cfg(test)]
mod tests {
    use genkai_model::plan::Site;

    use super::*;

    fn law(limits: &[Limit], id: &str) -> Law {
        limits.iter().find(|l| l.id == id).unwrap_or_else(|| panic!("{id}")).law.clone()
    }

    /// A page that computes for `cpu` ms and waits for the rest of `service` ms.
    fn cost(service: u64, cpu: u64) -> Cost {
        Cost { service: Duration::from_millis(service), cpu: Duration::from_millis(cpu) }
    }

    #[test]
    fn the_pool_is_a_limit_with_its_queue_and_its_service_time() {
        let settings = Settings::new(&Site::new(5), 2, 20_000);
        let limits = all(&settings, cost(50, 40), 4096);
        let expected = Law::Workers { workers: 5.0, queue: Some(512.0), service: Some(0.05), wait: None };
        assert_eq!(law(&limits, "backend.php_fpm.max_children"), expected);
        assert!(limits[0].formula.contains("100 requests/s"), "{}", limits[0].formula);
        assert_eq!(law(&limits, "backend.php_fpm.backlog"), Law::Backlog { value: 512.0 });
        assert_eq!(law(&limits, "backend.cpu"), Law::Cpu { cores: 2.0 });
        assert!(limits[3].formula.contains("50 requests/s"), "{}", limits[3].formula);
        assert!(limits.iter().all(|l| l.subject == "backend" && l.remedy.is_none() && !l.caps.is_empty()));
    }

    #[test]
    fn a_full_pool_proves_nothing_where_processors_are_scarcer_than_children() {
        let strongest = |children, cost| {
            let limits = all(&Settings::new(&Site::new(children), 2, 20_000), cost, 4096);
            limits[0].signatures.iter().map(|s| s.strength).max().unwrap()
        };
        assert_eq!(strongest(5, cost(40, 38)), Strength::Consistent, "2 cores feed 2 children that only compute");
        assert_eq!(strongest(5, cost(400, 40)), Strength::Decisive, "2 cores feed 20 children that mostly wait");
        assert_eq!(strongest(1, cost(40, 38)), Strength::Decisive);
        let quota = Settings { quota: Some(0.5), ..Settings::new(&Site::new(5), 2, 20_000) };
        let limits = all(&quota, cost(400, 40), 4096);
        let strengths = limits[0].signatures.iter().map(|s| s.strength);
        assert_eq!(strengths.max(), Some(Strength::Consistent), "half a core feeds 5 that mostly wait");
        assert_eq!((law(&limits, "backend.cpu"), limits[3].signatures.len()), (Law::Cpu { cores: 0.5 }, 0));
        assert!(
            limits[3].formula.contains("0.5 cores (the quota of the control group) / 40 ms"),
            "{}",
            limits[3].formula
        );
    }

    #[test]
    fn a_small_somaxconn_shortens_the_queue_and_a_large_pool_raises_max_connections() {
        assert_eq!(backlog(128), 129);
        let limits = all(&Settings::new(&Site::new(300), 2, 20_000), cost(50, 40), 128);
        let connections = limits.iter().find(|l| l.id == "backend.mariadb.max_connections").unwrap();
        assert!(connections.value.parse::<u32>().unwrap() > 300);
        assert_eq!(connections.origin, Origin::Given);
        let few = Site { connections: Some(12), ..Site::new(30) };
        let limits = all(&Settings::new(&few, 2, 20_000), cost(200, 20), 128);
        let at_once = Law::Workers { workers: 11.0, queue: Some(0.0), service: Some(0.2), wait: None };
        assert_eq!(law(&limits, "backend.mariadb.max_connections"), at_once);
    }
}
