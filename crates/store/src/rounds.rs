//! A document read round by round, so that no more than one of them is in memory.

use model::record::{Round, Run};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Takes a round; an error ends the reading.
type Take<'a> = &'a mut dyn FnMut(Round) -> Result<(), String>;

/// The run of a whole document, without its rounds: these go to `take`, in the order in which they stand there.
pub(crate) fn parse(text: &str, take: Take<'_>) -> Result<Run, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let run = Document(take).deserialize(&mut json)?;
    json.end()?;
    Ok(run)
}

/// `{"run": ...}`, whatever else is in it.
struct Document<'a>(Take<'a>);

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = Run;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Run, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = Run;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Run, A::Error> {
        let mut run = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "run" if run.is_some() => return Err(A::Error::duplicate_field("run")),
                "run" => run = Some(map.next_value_seed(Parts(&mut *self.0))?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        run.ok_or_else(|| A::Error::missing_field("run"))
    }
}

/// The parts of a run.
struct Parts<'a>(Take<'a>);

impl<'de> DeserializeSeed<'de> for Parts<'_> {
    type Value = Run;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Run, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = Run;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Run, A::Error> {
        let (mut meta, mut plan, mut host, mut rounds) = (None, None, None, false);
        while let Some(key) = map.next_key::<String>()? {
            let twice = |seen: bool, field| {
                if seen {
                    Err(A::Error::duplicate_field(field))
                } else {
                    Ok(())
                }
            };
            match key.as_str() {
                "meta" => {
                    twice(meta.is_some(), "meta")?;
                    meta = Some(map.next_value()?);
                }
                "plan" => {
                    twice(plan.is_some(), "plan")?;
                    plan = Some(map.next_value()?);
                }
                "host" => {
                    twice(host.is_some(), "host")?;
                    host = Some(map.next_value()?);
                }
                "rounds" => {
                    twice(rounds, "rounds")?;
                    rounds = true;
                    map.next_value_seed(Rounds(&mut *self.0))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if !rounds {
            return Err(A::Error::missing_field("rounds"));
        }
        Ok(Run {
            meta: meta.ok_or_else(|| A::Error::missing_field("meta"))?,
            plan: plan.ok_or_else(|| A::Error::missing_field("plan"))?,
            host: host.ok_or_else(|| A::Error::missing_field("host"))?,
            rounds: Vec::new(),
        })
    }
}

/// The list of rounds.
struct Rounds<'a>(Take<'a>);

impl<'de> DeserializeSeed<'de> for Rounds<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rounds<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rounds")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(round) = list.next_element()? {
            (self.0)(round).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
