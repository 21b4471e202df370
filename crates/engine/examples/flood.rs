//! Keep-alive load on a loopback address, and what it cost: `flood [--tls] [--http2 STREAMS] [--path PATH] ADDRESS USERS
//! SECONDS [CPU [RATE]]`. As fast as it goes, or open at a rate.
//!
//! For comparing the engine's CPU per request with other clients' (`scripts/` and `make bench` do so side by side).

use std::net::SocketAddr;

use genkai_engine::{StopFlag, run};
use genkai_model::histogram::{Payload, empty};
use genkai_model::http2::Http2;
use genkai_model::load::{Arrivals, Body, Load, Protocol, Request, Reuse, Spacing, Stop};
use genkai_model::transport::{Tls, Transport};
use genkai_model::units::{Span, Spread};

fn load(address: SocketAddr, connections: u32, seconds: u64, rate: Option<f64>) -> Load {
    let host = address.to_string();
    Load {
        addresses: vec![address],
        transport: Default::default(),
        protocol: Default::default(),
        request: Request { method: "GET".into(), path: "/".into(), host, headers: vec![], body: Body::Empty },
        arrivals: match rate {
            None => Arrivals::Users { count: connections, spawn_rate: 1e6, think: Spread::default() },
            Some(per_second) => Arrivals::Rate { per_second, ramp: Span(0), spacing: Spacing::Uniform, connections },
        },
        stages: Vec::new(),
        asked_by: None,
        locust: None,
        scenario: None,
        reuse: Reuse::KeepAlive,
        retry: true,
        stop: Stop { after: Span::from_secs(seconds), requests: None },
        timeout: Span::from_secs(5),
        threads: 1,
        scale: Default::default(),
        tick: Span::from_secs(1),
        seed: 1,
        kernel_timestamps: false,
        pages: None,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str, values: usize| -> Option<Vec<String>> {
        let at = arguments.iter().position(|argument| argument == name)?;
        Some(arguments.drain(at..=at + values).skip(1).collect())
    };
    let tls = option("--tls", 0).is_some();
    let streams = option("--http2", 1).map(|values| values[0].parse()).transpose()?;
    let path = option("--path", 1).map_or("/".to_owned(), |mut values| values.remove(0));
    let [address, connections, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("usage: flood [--tls] [--http2 STREAMS] [--path PATH] ADDRESS USERS SECONDS [CPU [RATE]]".into());
    };
    let address: SocketAddr = address.parse()?;
    if !address.ip().is_loopback() {
        return Err("only loopback".into());
    }
    let cpus: Vec<usize> = rest.iter().take(1).map(|cpu| cpu.parse()).collect::<Result<_, _>>()?;
    let rate = rest.get(1).map(|rate| rate.parse()).transpose()?;
    let (mut ok, mut failed, mut cpu_us, mut sent_bytes) = (0, 0, 0, 0);
    let (mut latency, mut lateness) = (empty(), empty());
    let mut load = load(address, connections.parse()?, seconds.parse()?, rate);
    load.request.path = path;
    if tls {
        let server_name = "localhost".to_owned();
        load.transport = Transport::Tls(Tls { server_name, ca: None, identity: None, insecure: true, resume: true });
    }
    if let Some(streams) = streams {
        load.protocol = Protocol::Http2(Http2 { streams });
    }
    let end = run(
        &load,
        (!cpus.is_empty()).then_some(&cpus),
        &StopFlag::new(),
        |_| (),
        |tick| {
            (ok, cpu_us, sent_bytes) = (ok + tick.ok, cpu_us + tick.cpu_us, sent_bytes + tick.bytes_out);
            failed += tick.errors.iter().map(|e| e.count).sum::<u64>();
            let of = |payload: &Payload| payload.decode().expect("own payload");
            latency.add(of(&tick.latency)).expect("the same bounds");
            lateness.add(of(&tick.lateness)).expect("the same bounds");
        },
    )?;
    let us = |ns: u64| ns as f64 / 1e3;
    println!("requests/s  {:.0}", ok as f64 / end.lasted.as_secs_f64());
    println!("failed      {failed}");
    println!("CPU/request {:.2} us (load threads)", cpu_us as f64 / ok.max(1) as f64);
    println!(
        "latency     p50 {:.0} us, p99 {:.0} us",
        us(latency.value_at_quantile(0.5)),
        us(latency.value_at_quantile(0.99))
    );
    println!(
        "lateness    p50 {:.1} us, p99 {:.1} us",
        us(lateness.value_at_quantile(0.5)),
        us(lateness.value_at_quantile(0.99))
    );
    println!("peak memory {:.1} MB", end.client_rss as f64 / 1e6);
    Ok(())
}
