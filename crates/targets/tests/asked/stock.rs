//! Sound files have no remarks: what distributions and the products themselves ship.

use std::path::Path;

use super::explained;

fn remarks(product: &str, main: &Path) -> Vec<String> {
    let explanation = explained(product, main, "localhost").unwrap();
    explanation.remarks.iter().map(|r| format!("{:?} {} {}", r.place, r.setting, r.text)).collect()
}

/// Numbers of workers for each multi-processing module beside one another, as httpd's own extra/httpd-mpm.conf has them.
const BLOCKS: &str = "<IfModule !mpm_netware_module>\n PidFile logs/httpd.pid\n</IfModule>\n\
    <IfModule mpm_prefork_module>\n StartServers 5\n MinSpareServers 5\n MaxSpareServers 10\n MaxRequestWorkers 250\n\
    MaxConnectionsPerChild 0\n</IfModule>\n\
    <IfModule mpm_worker_module>\n StartServers 3\n MinSpareThreads 75\n MaxSpareThreads 250\n ThreadsPerChild 25\n\
    MaxRequestWorkers 400\n MaxConnectionsPerChild 0\n</IfModule>\n\
    <IfModule mpm_event_module>\n StartServers 3\n MinSpareThreads 75\n MaxSpareThreads 250\n ThreadsPerChild 25\n\
    MaxRequestWorkers 400\n MaxConnectionsPerChild 0\n</IfModule>\n\
    <IfModule mpm_netware_module>\n ThreadStackSize 65536\n MinSpareThreads 25\n MaxSpareThreads 250\n</IfModule>\n\
    <IfModule mpm_winnt_module>\n ThreadsPerChild 150\n MaxConnectionsPerChild 0\n</IfModule>\n\
    <IfModule ssl_module>\n Listen 443\n</IfModule>\n<IfModule reqtimeout_module>\n RequestReadTimeout header=20\n</IfModule>\n";

#[test]
fn blocks_for_every_multi_processing_module_are_sound() {
    for mpm in ["event", "worker", "prefork"] {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("httpd.conf");
        let load = format!("LoadModule mpm_{mpm}_module modules/mod_mpm_{mpm}.so\nListen 8080\n");
        std::fs::write(&main, load + BLOCKS).unwrap();
        assert_eq!(remarks("apache", &main), Vec::<String>::new(), "{mpm}");
    }
}

#[test]
fn what_is_written_for_another_module_only_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("httpd.conf");
    let text = "LoadModule mpm_event_module modules/mod_mpm_event.so\nListen 8080\n<IfModule prefork.c>\n MaxRequestWorkers 999\n\
                MinSpareServers 5\n</IfModule>\n";
    std::fs::write(&main, text).unwrap();
    let said = remarks("apache", &main);
    assert!(said.len() == 1 && said[0].contains("MaxRequestWorkers does not count"), "{said:?}");
}

/// Asked of httpd 2.4.71 with a backend that is silent: `timeout=1min` ended a request after 1.0 s, `ProxyTimeout 2min` another after 2.0 s.
#[test]
fn times_whose_unit_apache_does_not_read_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("httpd.conf");
    let text = "LoadModule proxy_module x\nLoadModule proxy_http_module x\nListen 8080\nTimeout 2min\nProxyTimeout 500ms\n\
                KeepAliveTimeout 500ms\nProxyPass / http://127.0.0.1:9/\n";
    std::fs::write(&main, text).unwrap();
    let said = remarks("apache", &main).join("\n");
    assert!(
        said.contains("Timeout 2min is taken as 2 s") && said.contains("ProxyTimeout 500ms is taken as 500 s"),
        "{said}"
    );
    assert!(!said.contains("KeepAliveTimeout"), "{said}");
    let explanation = explained("apache", &main, "localhost").unwrap();
    let span = |name: &str| {
        explanation.timers.iter().find(|t| t.setting == name).and_then(|t| t.span).map(|s| s.0 / 1_000_000)
    };
    assert_eq!(
        [span("Timeout"), span("ProxyTimeout"), span("KeepAliveTimeout")],
        [Some(2_000), Some(500_000), Some(500)]
    );
}

#[test]
fn a_mistake_in_an_included_file_is_told_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (main, part) = (dir.path().join("main.conf"), dir.path().join("part.conf"));
    let write = |text: &str, of: &str| {
        std::fs::write(&main, text.replace("PART", part.to_str().unwrap())).unwrap();
        std::fs::write(&part, of).unwrap();
    };
    let place = format!("{}:2", part.display());
    for (product, text, broken, wrong) in [
        (
            "apache",
            "Listen 80\nInclude PART\n",
            "Timeout 5\n<VirtualHost *:80>\n",
            "Timeout 5\nAsyncRequestWorkerFactor 0\n",
        ),
        ("php-fpm", "[global]\ninclude = PART\n", "[www]\nlisten = \"x\nuser = a\n", "[www]\npm.max_children = x\n"),
        ("redis", "port 1\ninclude PART\n", "timeout 5\nrequirepass \"x\n", "timeout 5\nmaxclients 0\n"),
    ] {
        write(text, broken);
        let said = explained(product, &main, "").unwrap_err().to_string();
        assert!(said.contains(&place), "{product}: {said}");
        write(text, wrong);
        let said = remarks(product, &main);
        assert!(said.iter().any(|one| one.contains(&place) && one.contains("does not start")), "{product}: {said:?}");
    }
}
