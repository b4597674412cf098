//! A plan as a command line that asks for the same: what `--showcmd` prints.
//!
//! Defaults are written out for each job, so the line stands for itself and means the same here and in fio.

use super::job::Job;
use super::plan::Plan;

/// The jobs of a plan as one command line, quoted for a shell, without a line end.
pub fn show_command(plan: &Plan) -> String {
    let mut words = vec!["fio".to_owned()];
    for job in plan.jobs().filter(|job| job.clone == 0) {
        push(&mut words, job);
    }
    words.join(" ")
}

fn push(words: &mut Vec<String>, job: &Job) {
    words.push(word("name", Some(&job.name)));
    for setting in job.settings.iter().filter(|setting| setting.name != "name") {
        words.push(word(setting.name, setting.value.as_deref()));
    }
    if job.life.is_stonewalled && !job.has("stonewall") {
        words.push(word("stonewall", None));
    }
}

fn word(name: &str, value: Option<&str>) -> String {
    let Some(value) = value else {
        return format!("--{name}");
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,%+=@".contains(c);
    if value.chars().all(is_plain) {
        return format!("--{name}={value}");
    }
    format!("--{name}='{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::testkit::{Nowhere, file};
    use crate::fio::{Place, parse};

    #[test]
    fn the_command_line_asks_for_the_same_jobs() {
        let text = "[global]\nkb_base=1000\nsize=1mib\n[a]\nthread\nrw=randread\n[global]\nrw=write\n[b c]\nstonewall\n\
                    description=it's two words\nname=d\nnumjobs=2\n";
        let plan = file(text).unwrap();
        let line = show_command(&plan);
        assert_eq!(
            line,
            "fio --name=a --kb_base=1000 --size=1mib --thread --rw=randread \
             --name=d --kb_base=1000 --size=1mib --rw=write --stonewall --description='it'\\''s two words' --numjobs=2"
        );
        // What a shell makes of it.
        let plain = line.replace("'it'\\''s two words'", "it's_two_words");
        let arguments: Vec<String> = plain
            .split(' ')
            .skip(1)
            .map(|word| word.replace("s_two_words", "s two words"))
            .collect();
        let again = parse(&arguments, &Nowhere).unwrap();
        let bare = |plan: &Plan| -> Vec<Job> {
            let jobs = plan.jobs().cloned();
            jobs.map(|job| Job {
                settings: Vec::new(),
                place: Place::default(),
                ..job
            })
            .collect()
        };
        assert_eq!(bare(&again), bare(&plan));
        assert_eq!(again.groups.len(), plan.groups.len());
    }
}
