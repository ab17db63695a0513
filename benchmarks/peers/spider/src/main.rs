// spider-peer SEEDS-FILE CONCURRENCY: one Website for each seed's host, as many at once as makes the concurrency.
// spider keeps nothing by itself: pages are handed to a subscriber, which counts their bytes.
// Websites do not share a semaphore: one that finds no slot free drops the links it holds (seen in 2.53).
use spider::website::Website;
use std::{fs, sync::Arc};
use tokio::{sync::Semaphore, task::JoinSet};

const SLOTS_OF_A_HOST: usize = 4;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let concurrency: usize = arguments[2].parse().expect("a number");
    let hosts = Arc::new(Semaphore::new((concurrency / SLOTS_OF_A_HOST).max(1)));
    let mut crawls = JoinSet::new();
    for seed in fs::read_to_string(&arguments[1]).expect("seeds").split_whitespace() {
        let (seed, hosts) = (seed.to_string(), hosts.clone());
        crawls.spawn(async move {
            let _turn = hosts.acquire_owned().await;
            let mut site = Website::new(&seed);
            site.with_respect_robots_txt(true)
                .with_user_agent(Some("spider-peer"))
                .with_concurrency_limit(Some(SLOTS_OF_A_HOST))
                .with_danger_accept_invalid_certs(true)
                .with_delay(0);
            let mut pages = site.subscribe(256);
            let counted = tokio::spawn(async move {
                let mut bytes = 0;
                while let Ok(page) = pages.recv().await {
                    bytes += page.get_html_bytes_u8().len();
                }
                bytes
            });
            site.crawl().await;
            site.unsubscribe();
            counted.await.unwrap_or(0)
        });
    }
    let mut bytes = 0;
    while let Some(one) = crawls.join_next().await {
        bytes += one.unwrap_or(0);
    }
    println!("{bytes} bytes");
}
