//! Sites of several servers, each the limit in turn: a real one behind the product whose setting is tried on a copy of it, and one hop further.

use super::Behind::{Alone, Server};
use super::{Between, Case, NO_NUMBER, PATIENCE};

const NGINX: &str =
    "events { worker_connections 512; }\nhttp { server { listen 80; location / { proxy_pass http://{backend}; } } }\n";
/// Users who want more than a few connections of a database give, and who are refused then.
pub(super) const REFUSED: &str = "--users 80 --spawn-rate 8 --think 200ms";

pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        behind(
            "apache-behind-nginx",
            "Apache with MaxRequestWorkers 4 between nginx and an application of 100 ms",
            APACHE,
        )
        .either(
            &["apache.MaxRequestWorkers", "apache.ThreadsPerChild"],
            "with one child both settings allow the same four threads",
        ),
        behind(
            "haproxy-behind-nginx",
            "HAProxy whose server has maxconn 4, between nginx and an application of 100 ms",
            HAPROXY,
        )
        .cause("haproxy.server.maxconn"),
    ];
    all.extend([heap(), group(), disk()]);
    all.extend(tomcats());
    all.extend(hops());
    all.extend(super::site::cases());
    all
}

fn behind(name: &str, fault: &str, server: Between) -> Case {
    Case::of("nginx", name, fault)
        .flags("--users 40 --spawn-rate 8 --think 200ms")
        .objective("p99 < 300ms")
        .config(NGINX)
        .behind(Server(server, "--service-time 100ms"))
        .off(PATIENCE)
}

/// A cluster of Node.js whose workers keep something of each request until their heap is used up, and are started anew.
fn heap() -> Case {
    Case::of(
        "nginx",
        "node-heap-nginx",
        "Node.js whose workers keep a mebibyte of each request, with --max-old-space-size 48, behind nginx",
    )
    .flags("--users 40 --spawn-rate 8 --think 200ms --hold 6s")
    .objective("errors < 0.1%")
    .config(NGINX)
    .behind(Alone(NODE))
    .cause("backend.node.heap")
    .off(NO_NUMBER)
}

/// Tomcats of which a private copy is asked: one whose pages keep something until the heap is used up, one that takes few connections.
fn tomcats() -> Vec<Case> {
    let tomcat = |name: &str, fault: &str, server: Between, page: &'static str| {
        Case::of("nginx", name, fault)
            .config(NGINX)
            .flags("--start-applications")
            .beside("www/index.jsp", page)
            .beside("www/WEB-INF/web.xml", JSP)
            .behind(Alone(server))
    };
    vec![
        tomcat(
            "tomcat-heap",
            "Tomcat whose pages keep a mebibyte each, with -Xmx64m, behind nginx",
            TOMCAT_HEAP,
            KEEPS,
        )
        .flags("--users 40 --spawn-rate 8 --think 200ms --hold 6s")
        .objective("errors < 0.1%")
        .cause("tomcat.heap")
        .off(NO_NUMBER),
        tomcat(
            "tomcat-connections",
            "Tomcat with maxConnections 4, acceptCount 64 and pages of 100 ms, behind nginx",
            TOMCAT_CONNECTIONS,
            "<% Thread.sleep(100); %>here\n",
        )
        .flags("--users 60 --spawn-rate 8 --think 200ms")
        .objective("p99 < 500ms")
        .cause("tomcat.maxConnections")
        .off(PATIENCE),
    ]
}

const KEEPS: &str = "<%! static final java.util.List<byte[]> KEPT = new java.util.ArrayList<>(); %><% synchronized (KEPT) { KEPT.add(new byte[1 << 20]); } \
                     %>here\n";

/// What Tomcat's own `web.xml` says of pages.
const JSP: &str = "<web-app xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"6.0\"><servlet><servlet-name>jsp</servlet-name>\
                   <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class></servlet><servlet-mapping><servlet-name>jsp\
                   </servlet-name><url-pattern>/</url-pattern></servlet-mapping><servlet-mapping><servlet-name>jsp</servlet-name>\
                   <url-pattern>*.jsp</url-pattern></servlet-mapping><welcome-file-list><welcome-file>index.jsp</welcome-file>\
                   </welcome-file-list></web-app>\n";

macro_rules! tomcat {
    ($heap:literal) => {
        &[
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            $heap,
            "-Djava.io.tmpdir={dir}",
            "-Dcatalina.home=/usr/share/tomcat10",
            "-Dcatalina.base={dir}",
            "-cp",
            "/usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar",
            "org.apache.catalina.startup.Bootstrap",
            "-config",
            "{dir}/behind.conf",
            "start",
        ]
    };
}

macro_rules! server {
    ($set:literal) => {
        concat!(
            "<?xml version=\"1.0\"?>\n<Server port=\"-1\">\n  <Service name=\"Catalina\">\n    <Connector port=\"{port}\" address=\"127.0.0.1\" ",
            $set,
            "/>\n    <Engine name=\"Catalina\" defaultHost=\"localhost\">\n      <Host name=\"localhost\" appBase=\"webapps\" \
             autoDeploy=\"false\" deployOnStartup=\"false\">\n        <Context path=\"\" docBase=\"{dir}/www\"/>\n      </Host>\n    \
             </Engine>\n  </Service>\n</Server>\n"
        )
    };
}

const TOMCAT_HEAP: Between = Between { command: tomcat!("-Xmx64m"), file: server!("maxThreads=\"50\"") };

const TOMCAT_CONNECTIONS: Between =
    Between { command: tomcat!("-Xmx128m"), file: server!("maxConnections=\"4\" acceptCount=\"64\"") };

/// gunicorn in a control group of its own (of the first version), whose workers keep more and more.
fn group() -> Case {
    Case::of(
        "nginx",
        "memory-group-behind",
        "gunicorn whose workers keep 4 MiB of each request, with 160 MiB for its control group, behind nginx",
    )
    .flags("--users 40 --spawn-rate 8 --think 200ms --hold 6s")
    .objective("errors < 0.1%")
    .config(NGINX)
    .beside("app.py", KEEPING)
    .behind(Alone(GROUPED))
    .cause("backend.memory_group")
    .off(NO_NUMBER)
}

/// An application with one thread that reads a mebibyte for each request, from a disk that gives it ten a second (a control group of the first version).
fn disk() -> Case {
    Case::of(
        "nginx",
        "disk-behind",
        "an application with one thread that reads 1 MiB for each request at 10 MiB/s, behind nginx",
    )
    .flags("--users 30 --spawn-rate 4 --think 200ms --hold 4s")
    .objective("p99 < 1s")
    .config(NGINX)
    .beside("app.py", READING)
    .behind(Alone(SLOW_DISK))
    .cause("backend.disk")
    .off(NO_NUMBER)
}

/// One hop further: what an application asks that nobody knows.
fn hops() -> Vec<Case> {
    let hop = |name: &str, fault: &str, server: Between, cause: &'static str| {
        Case::of("nginx", name, fault)
            .flags(REFUSED)
            .objective("errors < 5%")
            .config(NGINX)
            .beside("app.py", APP)
            .behind(Alone(server))
            .cause(cause)
            .off(NO_NUMBER)
    };
    vec![
        hop(
            "redis-beyond",
            "Redis with maxclients 8, asked by an application behind nginx",
            REDIS,
            "beyond.Redis.maxclients",
        ),
        hop(
            "postgresql-beyond",
            "PostgreSQL with max_connections 13, asked by an application behind nginx",
            POSTGRESQL,
            "beyond.PostgreSQL.max_connections",
        ),
        hop(
            "pgbouncer-beyond",
            "PgBouncer with max_client_conn 10, asked by an application behind nginx",
            PGBOUNCER,
            "beyond.PgBouncer.max_client_conn",
        ),
    ]
}

const APACHE: Between = Between {
    command: &["apache2", "-f", "{dir}/behind.conf", "-D", "FOREGROUND"],
    file: "ServerRoot {dir}\nListen 127.0.0.1:{port}\nServerName localhost\nPidFile {dir}/httpd.pid\nErrorLog {dir}/httpd.log\nLoadModule \
           mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so\nLoadModule authz_core_module \
           /usr/lib/apache2/modules/mod_authz_core.so\nLoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\nLoadModule \
           proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\nUser www-data\nGroup www-data\nStartServers 1\nServerLimit \
           1\nThreadsPerChild 4\nThreadLimit 64\nMinSpareThreads 1\nMaxSpareThreads 4\nMaxRequestWorkers 4\nProxyPass / \
           http://{origin}/\n",
};

const HAPROXY: Between = Between {
    command: &["haproxy", "-db", "-f", "{dir}/behind.conf"],
    file: "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend f\n  bind \
           127.0.0.1:{port}\n  default_backend b\nbackend b\n  server one {origin} maxconn 4\n",
};

/// An application that opens a connection for each request: to Redis, or by the protocol of PostgreSQL.
const APP: &str = "import http.server, socket, socketserver, struct, sys
port, path, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def say(db, kind, text):
    db.sendall(kind + struct.pack('!i', len(text) + 4) + text)
def until_ready(db):
    file = db.makefile('rb')
    while True:
        kind, length = struct.unpack('!ci', file.read(5))
        file.read(length - 4)
        if kind == b'E': raise OSError
        if kind == b'Z': return
def postgres(db, user=b'visitor', text=b'select pg_sleep(0.1)'):
    say(db, b'', struct.pack('!i', 196608) + b'user\\0' + user + b'\\0database\\0postgres\\0\\0')
    until_ready(db)
    say(db, b'Q', text + b'\\0')
    until_ready(db)
def redis(db):
    db.sendall(b'BLPOP nothing 0.1\\r\\n')
    if db.recv(100)[:1] != b'*': raise OSError
ask = globals()[kind]
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    request_queue_size = 512
    daemon_threads = True
class Asked(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        status = 500
        try:
            with socket.socket(socket.AF_UNIX) as db:
                db.connect(path)
                ask(db)
                status = 200
        except Exception: pass
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()
Server(('127.0.0.1', port), Asked).serve_forever()
";

const NODE: Between = Between {
    command: &["sh", "-c", "exec node --max-old-space-size=48 {dir}/behind.conf 2> {dir}/node.log"],
    file: "const cluster = require('cluster'), kept = [];\nif (cluster.isPrimary) {\n  cluster.fork(); cluster.fork();\n  cluster.on('exit', () => \
           cluster.fork());\n} else {\n  require('http').createServer((q, s) => {\n    kept.push(Array.from({ length: 131072 }, (_, i) => i + \
           0.5));\n    setTimeout(() => s.end('here'), 20);\n  }).listen({port}, '127.0.0.1');\n}\n",
};

const KEEPING: &str = "kept = []\ndef app(environ, start):\n    kept.append(bytearray(b'x' * (4 << 20)))\n    start('200 OK', [('Content-Length', \
                       '4')])\n    return [b'here']\n";

const GROUPED: Between = Between {
    command: &[
        "sh",
        "-c",
        "group=/sys/fs/cgroup/memory/genkai-drill-behind-$$ && mkdir $group && echo 167772160 > $group/memory.limit_in_bytes && cd {dir} && { sh -c \"echo \
         \\$\\$ > $group/cgroup.procs && exec gunicorn -w 3 -b 127.0.0.1:{port} app:app\" & } && trap \"kill $!; wait; rmdir $group\" TERM && wait",
    ],
    file: "",
};

/// One request after another, each read from the disk itself.
const READING: &str = "import http.server, mmap, os, sys
path, size = sys.argv[2], 1 << 20
with open(path, 'wb') as file:
    file.write(os.urandom(size))
    os.fsync(file.fileno())
file, memory = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, size)
class Server(http.server.HTTPServer):
    request_queue_size = 512
class Asked(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        os.lseek(file, 0, 0)
        os.readv(file, [memory])
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()
Server(('127.0.0.1', int(sys.argv[1])), Asked).serve_forever()
";

const SLOW_DISK: Between = Between {
    command: &[
        "sh",
        "-c",
        "group=/sys/fs/cgroup/blkio/genkai-drill-behind-$$ && mkdir $group && device=$(stat -c '%Hd:%Ld' {dir}) && echo \"$device 10485760\" > \
         $group/blkio.throttle.read_bps_device && { sh -c \"echo \\$\\$ > $group/cgroup.procs && exec python3 {dir}/app.py {port} {dir}/blob\" & } && trap \
         \"kill $!; wait; rmdir $group\" TERM && wait",
    ],
    file: "",
};

const REDIS: Between = Between {
    command: &[
        "sh",
        "-c",
        "cd {dir} && mkdir db && { setpriv --pdeathsig=KILL redis-server {dir}/behind.conf & } && until [ -S db/redis ]; do sleep 0.05; done && \
         { setpriv --pdeathsig=KILL python3 app.py {port} {dir}/db/redis redis & } && wait",
    ],
    file: "port 0\nunixsocket {dir}/db/redis\nmaxclients 8\nsave \"\"\ndir {dir}\n",
};

/// PostgreSQL with a folder of its own, as `nobody`: it does not run as root. Roles: one who may do everything, and a visitor.
macro_rules! postgresql {
    () => {
        "cd {dir} && mkdir -p db/data && chmod 777 db && chown nobody db/data && bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1) && as='setpriv \
         --reuid=nobody --regid=nogroup --clear-groups --pdeathsig=KILL' && $as $bin/initdb -A trust -U app --no-sync -D {dir}/db/data && \
         cp behind.conf db/data/postgresql.conf && { $as $bin/postgres -D {dir}/db/data 2> db/pg.log & } && until $bin/psql -h {dir}/db -U \
         app postgres -c 'CREATE ROLE visitor LOGIN'; do sleep 0.1; done && "
    };
}

const POSTGRESQL: Between = Between {
    command: &[
        "sh",
        "-c",
        concat!(
            postgresql!(),
            "{ setpriv --pdeathsig=KILL python3 app.py {port} {dir}/db/.s.PGSQL.5432 postgres & } && wait"
        ),
    ],
    file: "listen_addresses = ''\nunix_socket_directories = '{dir}/db'\nmax_connections = 13 # and 3 of them for superusers\n",
};

const PGBOUNCER: Between = Between {
    command: &[
        "sh",
        "-c",
        concat!(
            postgresql!(),
            "printf '[databases]\\n* = host={dir}/db user=visitor\\n[pgbouncer]\\nunix_socket_dir = {dir}/db\\nlisten_port = 6432\\nauth_type = any\\nmax_client_conn \
             = 10\\ndefault_pool_size = 40\\nlogfile = {dir}/db/pgbouncer.log\\n' > db/pgbouncer.ini && chmod 644 db/pgbouncer.ini && { $as pgbouncer -q \
             {dir}/db/pgbouncer.ini & } && until [ -S db/.s.PGSQL.6432 ]; do sleep 0.05; done && { setpriv --pdeathsig=KILL python3 app.py {port} \
             {dir}/db/.s.PGSQL.6432 postgres & } && wait"
        ),
    ],
    file: "listen_addresses = ''\nunix_socket_directories = '{dir}/db'\nmax_connections = 100\n",
};
