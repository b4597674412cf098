//! `cpu.json`: reading and writing JSON, as services do all day.

use super::data::{self, Order};
use super::{all_right, bytes_per_s, room_for, work};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::spec::{Nature, ParamDef, ParamKind, Spec, TestDef};

/// The workload.
pub(crate) static JSON: Json = Json;

/// JSON by `serde_json`, from and to typed data.
#[derive(Debug)]
pub(crate) struct Json;

static SPEC: Spec = Spec {
    name: "cpu.json",
    version: 1,
    nature: Nature::Compute,
    title: "parsing and writing JSON",
    doc: "One operation parses, or writes, one document of generated orders with customers, articles, prices and \
          notes, by the crate `serde_json` from and to typed data. 200 orders are about 88 KB. It is branches and \
          byte-by-byte work, as in most programs, and does not use vector units.\n\n\
          Parsing allocates by nature: every text and list of the document becomes a piece of memory, and freeing it \
          again is part of the operation; so the C library's `malloc` is part of the figure. Writing goes into a \
          buffer that is used again and allocates nothing.",
    params: &[
        ParamDef {
            name: "direction",
            kind: ParamKind::Choice(&["parse", "write"]),
            default: "parse",
            doc: "What one operation does.",
        },
        ParamDef {
            name: "orders",
            kind: ParamKind::Count {
                min: 1,
                max: 100_000,
            },
            default: "200",
            doc: "Orders in the document, about 440 bytes each.",
        },
    ],
    metrics: &bytes_per_s(
        "Bytes of JSON, over the wall time from the start of the first document to the end of the last.",
        "Bytes of JSON, over the CPU time that all copies together spent in between.",
    ),
    tests: &[
        TestDef::new("cpu.json-parse", "JSON into typed data", &[]),
        TestDef::new(
            "cpu.json-write",
            "typed data into JSON",
            &[("direction", "write")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

/// What a copy keeps of an order: its data, what was parsed of it, and two documents.
const ORDER_BYTES: u64 = 4096;

fn parses(params: &Params) -> bool {
    params.text("direction") == "parse"
}

impl Workload for Json {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = if parses(params) {
            ["JSON parse", "JSON 解析"]
        } else {
            ["JSON write", "JSON 出力"]
        };
        Some(Headline::new(Topic::Cpu, words).and_all())
    }

    fn allocates(&self, params: &Params) -> bool {
        parses(params)
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some("portable".to_owned())
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let count = usize::try_from(params.count("orders"))
            .map_err(|error| WorkError::failed("set", "orders", error))?;
        room_for(params.count("orders").saturating_mul(ORDER_BYTES), place)?;
        let orders = data::orders(place.seed, count);
        let text = serde_json::to_vec(&orders)
            .map_err(|error| WorkError::failed("write", "document", error))?;
        Ok(Box::new(Documents {
            written: Vec::with_capacity(text.len()),
            quantities: quantities(&orders),
            orders,
            text,
            parse: parses(params),
            different: 0,
        }))
    }
}

struct Documents {
    orders: Vec<Order>,
    /// The sum over all orders: cheap to check after each parse.
    quantities: u64,
    text: Vec<u8>,
    written: Vec<u8>,
    parse: bool,
    different: u64,
}

fn quantities(orders: &[Order]) -> u64 {
    let items = orders.iter().flat_map(|order| &order.items);
    items.map(|item| u64::from(item.quantity)).sum()
}

fn write(written: &mut Vec<u8>, orders: &[Order]) -> serde_json::Result<()> {
    written.clear();
    serde_json::to_writer(written, orders)
}

impl Body for Documents {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            let right = recorder.time(|| {
                if self.parse {
                    serde_json::from_slice::<Vec<Order>>(&self.text)
                        .map(|orders| quantities(&orders) == self.quantities)
                } else {
                    write(&mut self.written, &self.orders)
                        .map(|()| self.written.len() == self.text.len())
                }
            });
            self.different += u64::from(!right.unwrap_or(false));
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        work(self.text.len())
    }

    /// What was parsed last time must be the data, and what was written the text.
    fn finish(&mut self) -> Result<Finish, WorkError> {
        let wrong = |what: &str| Err(WorkError::Wrong(what.to_owned()));
        if self.parse {
            let orders: Result<Vec<Order>, _> = serde_json::from_slice(&self.text);
            if orders.ok().as_ref() != Some(&self.orders) {
                return wrong("the parsed document is not the data that was written");
            }
        } else if self.written != self.text {
            return wrong("the written document differs from the first one");
        }
        let digest = Digest::EMPTY.word(self.quantities);
        Ok(Finish {
            digest: all_right(self.different, "document", digest)?,
            ..Finish::default()
        })
    }
}
