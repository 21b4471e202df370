//! Servers that people run behind a proxy, started from their packages as a user starts them: the limit is one of their own settings, and is
//! named by it.

use super::Behind::Alone;
use super::{Between, COST, Case, NO_NUMBER, PATIENCE};

/// Users who want more than the few workers serve, and an objective that the wait violates.
const USERS: &str = "--users 60 --spawn-rate 8 --think 200ms";

fn case(product: &'static str, name: &'static str, fault: &'static str, server: Between) -> Case {
    Case::of(product, name, fault).flags(USERS).objective("p99 < 500ms").behind(Alone(server)).off(PATIENCE)
}

pub(super) fn cases() -> Vec<Case> {
    servers().into_iter().chain(ended()).chain([executor(), short_queue()]).collect()
}

/// Workers before which as many wait as their queue holds when it is too long for them.
fn short_queue() -> Case {
    case(
        "nginx",
        "uwsgi-listen-nginx",
        "uWSGI with 2 x 2 threads of 100 ms and a listen of 8, which as many users fill as wait too long, behind nginx",
        SHORT,
    )
    .config(
        "events { }\nhttp { server { listen 80; location / { include /etc/nginx/uwsgi_params; uwsgi_pass unix:{dir}/u.sock; } } }\n",
    )
    .objective("p99 < 300ms, errors < 1%")
    .beside("app.py", APP)
    .cause("backend.uwsgi.processes")
}

/// Pools whose scripts some requests of which are ended, whatever the load is.
fn ended() -> Vec<Case> {
    let nginx = "events { }\nhttp { server { listen 80; location / { fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; \
                 fastcgi_param SCRIPT_FILENAME {dir}/www/index.php; fastcgi_pass unix:{dir}/fpm.sock; } } }\n";
    let one = |cause: &'static str, name: &str, fault: &str, pool: Between, page: &'static str| {
        let (product, config) = if name.ends_with("apache") { ("apache", MOD_PROXY_FCGI) } else { ("nginx", nginx) };
        Case::of(product, name, fault)
            .flags("--users 10 --spawn-rate 5 --think 100ms --hold 6s")
            .objective("errors < 1%")
            .config(config)
            .beside("www/index.php", page)
            .behind(Alone(pool))
            .cause(cause)
            .off(NO_NUMBER)
    };
    let [memory, terminate] = ["php-fpm.www.php_admin_value.memory_limit", "php-fpm.www.request_terminate_timeout"];
    vec![
        one(
            memory,
            "php-memory-nginx",
            "a pool with memory_limit 16M, and a script that takes 40 MB for one request of ten, behind nginx",
            MEMORY,
            GREEDY,
        ),
        one(
            memory,
            "php-memory-apache",
            "a pool with memory_limit 16M, and a script that takes 40 MB for one request of ten, behind Apache's mod_proxy_fcgi",
            MEMORY,
            GREEDY,
        ),
        one(
            "php-fpm.www.memory_limit",
            "php-memory-unlogged",
            "a pool with php_value[memory_limit] 16M and log_errors off, and such a script, behind nginx",
            UNLOGGED,
            GREEDY,
        ),
        one(
            "php.PHP_VALUE.memory_limit",
            "php-memory-value",
            "memory_limit=16M that nginx passes to a pool with 32M (PHP_VALUE), and such a script",
            MORE,
            GREEDY,
        )
        .config(nginx.replacen(
            "fastcgi_pass",
            "fastcgi_param PHP_VALUE \"memory_limit=16M\"; fastcgi_pass",
            1,
        )),
        one(
            "php.user.ini.memory_limit",
            "php-memory-site",
            "memory_limit = 16M in the .user.ini of a site, of a pool with 32M, and such a script",
            MORE,
            GREEDY,
        )
        .config(nginx.replacen("fastcgi_pass", "fastcgi_param DOCUMENT_ROOT {dir}/www; fastcgi_pass", 1))
        .beside("www/.user.ini", "memory_limit = 16M\n"),
        one(
            "php-fpm.www.memory_limit.otherwise",
            "php-memory-script",
            "a script that gives itself 24M (ini_set) of a pool's 32M, and takes 40 MB for one request of ten",
            MORE,
            "<?php ini_set('memory_limit', '24M'); if (mt_rand(1, 10) == 1) { $x = str_repeat('x', 40 << 20); } usleep(20000); echo 'here';\n",
        ),
        one(
            terminate,
            "php-terminate-nginx",
            "a pool with request_terminate_timeout 1s, and a script that sleeps 3 s for one request of twenty, behind nginx",
            TERMINATE,
            SLEEPY,
        ),
        one(
            terminate,
            "php-terminate-apache",
            "a pool with request_terminate_timeout 1s, and a script that sleeps 3 s for one request of twenty, behind Apache's mod_proxy_fcgi",
            TERMINATE,
            SLEEPY,
        ),
        one(
            "php-fpm.www.php_admin_value.max_execution_time",
            "php-execution-time",
            "a pool with max_execution_time 1, and a script that takes 3 s of a core for one request of fifty, behind nginx",
            TIME,
            "<?php $used = fn() => ($r = getrusage())['ru_utime.tv_sec'] + $r['ru_utime.tv_usec'] / 1e6;\nif (mt_rand(1, 50) == 1) { for ($t = $used(); $used() - $t < 3;); } \
             usleep(20000); echo 'here';\n",
        ),
    ]
}

/// A Tomcat whose executor takes few requests besides those that it works on.
fn executor() -> Case {
    let fault = "Tomcat with an Executor of maxThreads 20 and maxQueueSize 15, and pages of 500 ms, behind nginx";
    Case::of("nginx", "tomcat-executor", fault)
        .behind(Alone(EXECUTOR))
        .config("events { }\nhttp { server { listen 80; location / { proxy_pass http://{backend}; } } }\n")
        .flags("--start-applications --users 60 --spawn-rate 6 --think 100ms")
        .objective("errors < 1%")
        .beside("www/index.jsp", "<% Thread.sleep(500); %>here\n")
        .beside("www/WEB-INF/web.xml", JSP)
        .cause("tomcat.maxQueueSize")
}

fn servers() -> Vec<Case> {
    let nginx = "events { }\nhttp { server { listen 80; location / { proxy_pass http://{backend}; } } }\n";
    let haproxy = "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend f\n  bind :80\n  \
                   default_backend b\nbackend b\n  server one {backend}\n";
    vec![
        case("nginx", "gunicorn-nginx", "gunicorn with 3 workers of 100 ms, set in its file, behind nginx", GUNICORN)
            .config(nginx)
            .cause("backend.gunicorn.workers"),
        case("haproxy", "gunicorn-haproxy", "gunicorn with 2 x 2 threads of 100 ms behind HAProxy, which keeps connections", THREADS)
            .config(haproxy)
            .beside("app.py", APP)
            .cause("backend.gunicorn.workers"),
        case("nginx", "uvicorn-nginx", "uvicorn with --limit-concurrency 12 and answers of 100 ms behind nginx", UVICORN)
            .config(nginx)
            .objective("errors < 1%")
            .beside("app.py", ASGI)
            .cause("backend.uvicorn.limit-concurrency")
            .off(NO_NUMBER),
        case("nginx", "uwsgi-nginx", "uWSGI with 2 x 2 threads of 100 ms on a Unix socket behind nginx", UWSGI)
            .config(
                "events { }\nhttp { server { listen 80; location / { include /etc/nginx/uwsgi_params; uwsgi_pass unix:{dir}/u.sock; } } }\n",
            )
            .beside("app.py", APP)
            .cause("backend.uwsgi.processes"),
        case("nginx", "tomcat-nginx", "Tomcat with maxThreads 4 and pages of 100 ms behind nginx", TOMCAT)
            .config(nginx)
            .flags("--start-applications")
            .beside("www/index.jsp", "<% Thread.sleep(100); %>here\n")
            .beside("www/WEB-INF/web.xml", JSP)
            .cause("tomcat.maxThreads"),
        case("nginx", "node-nginx", "Node.js whose event loop computes for 10 ms for each request, behind nginx", NODE)
            .config(nginx)
            // 60 users who think for 200 ms wait for 400 ms where 100 requests a second are answered.
            .objective("p99 < 200ms")
            .either(
                &["backend.node.event", "machine.cpu"],
                "on two cores that all share, the loop and the processors are full together",
            )
            .off(COST),
        case("apache", "php-fpm-mod-proxy-fcgi", "a pool of 3 children of 100 ms behind Apache's mod_proxy_fcgi", FPM)
            .config(MOD_PROXY_FCGI)
            .beside("www/index.php", "<?php usleep(100000); echo 'here';\n")
            .cause("php-fpm.www.pm.max_children"),
        case(
            "nginx",
            "php-fpm-status",
            "a pool of 3 children of 300 ms that logs to the system and has a status page, in a mount namespace of its own, behind nginx",
            STATUS,
        )
        .config(
            "events { }\nhttp { server { listen 80; location / { fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; \
             fastcgi_param SCRIPT_FILENAME {dir}/www/index.php; fastcgi_pass unix:{dir}/fpm.sock; } } }\n",
        )
        .objective("p99 < 2s")
        .beside("www/index.php", "<?php usleep(300000); echo 'here';\n")
        .cause("php-fpm.www.pm.max_children"),
    ]
}

/// An application of 100 ms.
const APP: &str = "import time\ndef app(environ, start):\n    time.sleep(0.1)\n    start('200 OK', [('Content-Length', '4')])\n    return \
                   [b'here']\n";

/// The application is in its configuration, which is Python.
const GUNICORN: Between = Between {
    command: &["gunicorn", "-c", "{dir}/behind.conf", "-b", "127.0.0.1:{port}", "here:app"],
    file: "import sys, time, types\nworkers = 3\ndef app(environ, start):\n    time.sleep(0.1)\n    start('200 OK', [('Content-Length', \
           '4')])\n    return [b'here']\nsys.modules['here'] = types.SimpleNamespace(app=app)\n",
};

const THREADS: Between = Between {
    command: &["gunicorn", "-w", "2", "--threads=2", "--chdir", "{dir}", "-b", "127.0.0.1:{port}", "app:app"],
    file: "",
};

/// The same, which takes many at once.
const ASGI: &str = "import asyncio\nasync def app(scope, receive, send):\n    if scope['type'] != 'http': return\n    await asyncio.sleep(0.1)\n    await \
                    send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'4')]})\n    await send({'type': \
                    'http.response.body', 'body': b'here'})\n";

/// Debian's package has no program of that name.
const UVICORN: Between = Between {
    command: &[
        "sh",
        "-c",
        "exec /usr/bin/python3 -m uvicorn --app-dir {dir} --lifespan off --no-access-log --limit-concurrency 12 --port {port} app:app 2> {dir}/u.log",
    ],
    file: "",
};

const UWSGI: Between = Between {
    command: &["uwsgi", "--ini", "{dir}/behind.conf"],
    file: "[uwsgi]\nplugin = python3\nmaster = true\nsocket = {dir}/u.sock\nchmod-socket = 666\nwsgi-file = {dir}/app.py\ncallable = \
           app\nprocesses = 2\nthreads = 2\ndie-on-term = true\n",
};

/// The same, before which few may wait.
const SHORT: Between = Between { command: &["uwsgi", "--ini", "{dir}/behind.conf", "--listen", "8"], ..UWSGI };

const TOMCAT: Between = Between {
    command: &[
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xmx128m",
        "-Djava.io.tmpdir={dir}",
        "-Dcatalina.home=/usr/share/tomcat10",
        "-Dcatalina.base={dir}",
        "-cp",
        "/usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar",
        "org.apache.catalina.startup.Bootstrap",
        "-config",
        "{dir}/behind.conf",
        "start",
    ],
    file: "<?xml version=\"1.0\"?>\n<Server port=\"-1\">\n  <Service name=\"Catalina\">\n    <Connector port=\"{port}\" \
           address=\"127.0.0.1\" maxThreads=\"4\" minSpareThreads=\"1\"/>\n    <Engine name=\"Catalina\" defaultHost=\"localhost\">\n      \
           <Host name=\"localhost\" appBase=\"webapps\" autoDeploy=\"false\" deployOnStartup=\"false\">\n        <Context path=\"\" \
           docBase=\"{dir}/www\"/>\n      </Host>\n    </Engine>\n  </Service>\n</Server>\n",
};

/// What Tomcat's own `web.xml` says of pages.
const JSP: &str = "<web-app xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"6.0\">\n  <servlet><servlet-name>jsp</servlet-name>\
                   <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class></servlet>\n  <servlet-mapping><servlet-name>jsp\
                   </servlet-name><url-pattern>/</url-pattern></servlet-mapping>\n  <servlet-mapping><servlet-name>jsp</servlet-name>\
                   <url-pattern>*.jsp</url-pattern></servlet-mapping>\n  <welcome-file-list><welcome-file>index.jsp</welcome-file>\
                   </welcome-file-list>\n</web-app>\n";

const NODE: Between = Between {
    command: &["node", "{dir}/behind.conf"],
    file: "require('http').createServer((q, s) => {\n  const end = process.hrtime.bigint() + 10000000n;\n  while (process.hrtime.bigint() < \
           end);\n  s.end('here');\n}).listen({port}, '127.0.0.1');\n",
};

const MOD_PROXY_FCGI: &str = "ServerRoot {dir}\nListen 80\nLoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLoadModule \
                              authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\nLoadModule proxy_module \
                              /usr/lib/apache2/modules/mod_proxy.so\nLoadModule proxy_fcgi_module \
                              /usr/lib/apache2/modules/mod_proxy_fcgi.so\nServerName localhost\nDocumentRoot {dir}/www\nProxyPass / \
                              \"unix:{dir}/fpm.sock|fcgi://localhost{dir}/www/index.php/\"\n";

const GREEDY: &str = "<?php if (mt_rand(1, 10) == 1) { $x = str_repeat('x', 40 << 20); } usleep(20000); echo 'here';\n";
const SLEEPY: &str = "<?php if (mt_rand(1, 20) == 1) { sleep(3); } usleep(20000); echo 'here';\n";

macro_rules! pool {
    ($lines:literal) => {
        Between {
            command: &["php-fpm8.2", "-F", "-R", "-y", "{dir}/behind.conf"],
            file: concat!(
                "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = www-data\npm = \
                 static\npm.max_children = 16\n",
                $lines
            ),
        }
    };
}

const MEMORY: Between = pool!("php_admin_value[memory_limit] = 16M\n");
const UNLOGGED: Between = pool!("php_value[memory_limit] = 16M\nphp_flag[log_errors] = off\n");
const MORE: Between = pool!("php_value[memory_limit] = 32M\n");
const TERMINATE: Between = pool!("request_terminate_timeout = 1s\n");
const TIME: Between = pool!("php_admin_value[max_execution_time] = 1\n");

const EXECUTOR: Between = Between {
    command: TOMCAT.command,
    file: "<?xml version=\"1.0\"?>\n<Server port=\"-1\">\n  <Service name=\"Catalina\">\n    <Executor name=\"few\" minSpareThreads=\"4\" maxThreads=\"20\" \
           maxQueueSize=\"15\"/>\n    <Connector port=\"{port}\" address=\"127.0.0.1\" executor=\"few\"/>\n    <Engine name=\"Catalina\" \
           defaultHost=\"localhost\">\n      <Host name=\"localhost\" appBase=\"webapps\" autoDeploy=\"false\" deployOnStartup=\"false\">\n        \
           <Context path=\"\" docBase=\"{dir}/www\"/>\n      </Host>\n    </Engine>\n  </Service>\n</Server>\n",
};

const FPM: Between = Between {
    command: &["php-fpm8.2", "-F", "-y", "{dir}/behind.conf"],
    file: "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = \
           www-data\npm = static\npm.max_children = 3\n",
};

/// No copy of it is made, and its log is not seen.
const STATUS: Between = Between {
    command: &["unshare", "--mount", "php-fpm8.2", "-F", "-y", "{dir}/behind.conf"],
    file: "[global]\nerror_log = syslog\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = www-data\npm = \
           dynamic\npm.max_children = 3\npm.start_servers = 3\npm.min_spare_servers = 1\npm.max_spare_servers = 3\npm.status_path = \
           /fpm-status\npm.status_listen = {dir}/status.sock\n",
};
