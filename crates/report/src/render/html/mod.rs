//! A page for the web: one file that holds all it needs, in every language, and asks nobody for anything.
//!
//! Languages and colours are chosen by plain controls and rules of style, so that they work without the script, which
//! only saves the figures to a file and tells readers' programs the language. A policy in the file itself forbids
//! everything but this style and this script, each by its digest.

mod blocks;
mod policy;

use super::svg::{LIGHT, STYLE};
use crate::lang::Lang;
use crate::page::Block;
use blocks::Writer;
use dialects::printable::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use packed::Packed;
pub use policy::digest;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What pages with a long series have too: a library that draws it, what asks it to, and its style.
const LONG: Packed = packed::carried!("uPlot.iife.min.js");
const LONG_SCRIPT: &str = include_str!("long.js");
/// What its licence asks for in every copy.
const LONG_LICENCE: &str = include_str!("../../../vendor/uplot-1.6.32/LICENSE");
const LONG_CSS: &str = include_str!("../../../vendor/uplot-1.6.32/uPlot.min.css");

/// The colours of a page that is dark.
const DARK: &str = "--page:#121212;--text:#e0e0e0;--muted:#a8a8a8;--grid:#3a3a3a;--band:#333;--line:#8a8a8a;\
                    --link:#8ec7ee;--soft:#1e1e1e";

/// What a file shows.
#[derive(Debug)]
pub struct Document {
    /// What it is called in every language.
    pub title: [String; 2],
    /// Its parts in every language, as in [`Lang::ALL`].
    pub parts: [Vec<Part>; 2],
    /// The language that is shown first.
    pub lang: Lang,
    /// Figures for programs, which readers can save.
    pub raw: Vec<Raw>,
    /// What is said where some of them are not in the file, in every language.
    pub left_out: [String; 2],
}

/// A part of a file: a page under a heading.
#[derive(Debug)]
pub struct Part {
    /// What it is.
    pub heading: String,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// A document for programs.
#[derive(Debug)]
pub struct Raw {
    /// The name of the file it is saved as.
    pub name: String,
    /// What it holds, as JSON or CSV.
    pub text: String,
}

/// The file.
pub fn html(document: &Document) -> String {
    let parts = document.parts[0].iter();
    let has_long = parts.flat_map(|part| &part.blocks).any(is_long);
    let mut style = style();
    let library = if has_long { LONG.text() } else { String::new() };
    let mut scripts = vec![SCRIPT];
    if has_long {
        style += LONG_CSS;
        scripts.extend([library.as_str(), LONG_SCRIPT]);
    }
    let lang = code(document.lang);
    let titles = document.title.each_ref().map(|title| printable(title));
    let title = &titles[usize::from(document.lang == Lang::Ja)];
    let page = html! {
        (DOCTYPE)
        html lang=(lang) {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::policy(&style, &scripts));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                meta property="og:title" content=(title);
                meta property="og:type" content="article";
                meta name="generator" content="kurabe";
                link rel="icon" href=(ICON);
                style { (PreEscaped(&style)) }
            }
            body {
                header.top {
                    h1 { @for (lang, title) in Lang::ALL.into_iter().zip(&titles) {
                        span.in lang=(code(lang)) { bdi { (title) } }
                    } }
                    (switches(document.lang))
                }
                @for (lang, parts) in Lang::ALL.into_iter().zip(&document.parts) {
                    (page_in(lang, parts, document))
                }
                @for (place, raw) in document.raw.iter().enumerate() {
                    script type="application/json" id={ "raw" (place) } { (PreEscaped(data(&raw.text))) }
                }
                @if has_long { (PreEscaped(format!("<!-- uPlot: {LONG_LICENCE}-->"))) }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string() + "\n"
}

/// Whether a long series is in it.
fn is_long(block: &Block) -> bool {
    match block {
        Block::Long(_) => true,
        Block::Section(_, inner) | Block::Within(_, inner) => inner.iter().any(is_long),
        _ => false,
    }
}

/// A picture without a request.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E\
                    %3Cpath fill='%230072B2' d='M1 4h2v4H1z'/%3E\
                    %3Cpath fill='%23D55E00' d='M5 1h2v7H5z'/%3E%3C/svg%3E";

fn style() -> String {
    let dark = |which: &str| format!("{which}{{color-scheme:dark;{DARK}}}");
    let asked = dark(":root:not(:has(#theme-light:checked))");
    let chosen = dark(":root:has(#theme-dark:checked)");
    format!(
        ":root{{color-scheme:light;{LIGHT}}}@media screen{{@media(prefers-color-scheme:dark){{{asked}}}{chosen}}}\n\
         {STYLE}\n{CSS}"
    )
}

const fn code(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::Ja => "ja",
    }
}

fn switches(first: Lang) -> Markup {
    let languages = [(Lang::En, "English"), (Lang::Ja, "日本語")];
    let themes = [
        ("system", "System", "自動"),
        ("light", "Light", "ライト"),
        ("dark", "Dark", "ダーク"),
    ];
    html! {
        form.switches {
            fieldset {
                legend { "Language / " span lang="ja" { "言語" } }
                @for (lang, name) in languages {
                    @let code = code(lang);
                    label lang=(code) {
                        input type="radio" name="lang" id={ "lang-" (code) } value=(code) checked[lang == first];
                        (name)
                    }
                }
            }
            fieldset {
                legend { "Colours / " span lang="ja" { "配色" } }
                @for (id, en, ja) in themes {
                    label {
                        input type="radio" name="theme" id={ "theme-" (id) } value=(id) checked[id == "system"];
                        (en) " " span lang="ja" { (ja) }
                    }
                }
            }
        }
    }
}

fn page_in(lang: Lang, parts: &[Part], document: &Document) -> Markup {
    let code = code(lang);
    let writer = Writer::new(lang);
    html! {
        main.in lang=(code) {
            @if parts.len() > 1 {
                nav aria-label=(lang.pick("Contents", "目次")) {
                    ul {
                        @for (place, part) in parts.iter().enumerate() {
                            li { a href={ "#" (code) "-" (place) } { bdi { (printable(&part.heading)) } } }
                        }
                    }
                }
            }
            @for (place, part) in parts.iter().enumerate() {
                section.part aria-labelledby={ (code) "-" (place) } {
                    h2 id={ (code) "-" (place) } { bdi { (printable(&part.heading)) } }
                    (writer.blocks(&part.blocks, 0, &part.heading))
                }
            }
            (saving(lang, document))
        }
    }
}

/// What readers can save. The buttons appear with the script that they need.
fn saving(lang: Lang, document: &Document) -> Markup {
    let left_out = &document.left_out[usize::from(lang == Lang::Ja)];
    html! {
        section.part.saving aria-labelledby={ (code(lang)) "-raw" } {
            h2 id={ (code(lang)) "-raw" } { (lang.pick("Figures for programs", "プログラム用のデータ")) }
            @if !document.raw.is_empty() {
                p { (lang.pick(
                    "Every figure of this page is in this file too, as documents for programs.",
                    "このページのすべての数値は、プログラム用の文書としてもこのファイルに含まれています。",
                )) }
            }
            p.save hidden {
                @for (place, raw) in document.raw.iter().enumerate() {
                    button type="button" data-raw={ "raw" (place) } data-name=(raw.name) {
                        (lang.pick("Save ", "保存: ")) (raw.name)
                    }
                    " "
                }
            }
            @if !left_out.is_empty() {
                p { (left_out) }
            }
        }
    }
}

/// Text within a data block: nothing in it ends the block, and JSON stays the JSON that it was. What is no JSON is put
/// into a text of JSON.
fn data(text: &str) -> String {
    let whole = if text.starts_with('{') {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    };
    let safe = dialects::printable::json(whole);
    safe.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests;
