//! Files of systems to be compared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use genkai_model::plan::Backend;

use crate::backend::{BACKEND, backend};
use crate::fault::Fault;
use crate::shape::{self, Format, Kind, Shape, field, needed, reads, shape};
use crate::yaml::{self, Node};

/// Systems as a file names them.
#[derive(Clone, Debug, PartialEq)]
pub struct Systems {
    /// Title of the comparison; empty for none.
    pub title: String,
    /// Backend of all of them, if given.
    pub backend: Option<Backend>,
    /// The systems.
    pub systems: Vec<NamedSystem>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSystem {
    /// Its name.
    pub name: String,
    /// What it is.
    pub what: What,
    /// Settings changed on top of it.
    pub settings: BTreeMap<String, String>,
}

/// What a system is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A plain reverse proxy of this product.
    Product(String),
    /// A configuration file; whose it is, is said or told by its text.
    File(PathBuf, Option<String>),
    /// Something that already runs.
    Url(String),
}

static URL: Format =
    reads(
        "an address",
        "http://127.0.0.1:8080",
        |text| {
            if text.starts_with("http://") { Ok(()) } else { Err(String::new()) }
        },
    )
    .pattern("^http://");

/// Settings by name.
pub(crate) static SETTINGS: Kind = Kind::Map(&Kind::Text);

static SYSTEM: Shape = shape("a system", "A system that takes part.").keys(&[
        needed("name", Kind::Text, "Name in reports, unique in this file."),
        field(
            "product",
            Kind::Product,
            "Plain reverse proxy or cache, as genkai configures it; with `config`, the product that the file belongs to.",
        ),
        field(
            "config",
            Kind::Text,
            "Main file of a configuration (for Traffic Server the folder), relative to the folder of this file; a private copy runs.",
        ),
        field("url", Kind::Read(&URL), "Server that already runs on this machine, instead of a product or a file."),
        field("set", Kind::Same(&SETTINGS), "Settings changed on top of it, by name."),
    ]);

/// The whole file.
pub(crate) static SYSTEMS: Shape =
    shape("a file of systems", "Systems to be compared by `genkai compare FILE`.").keys(&[
        field("title", Kind::Text, "Title of the comparison in reports."),
        field("backend", Kind::Same(&BACKEND), "Backend of every system."),
        needed("systems", Kind::List(&Kind::Object(&SYSTEM)), "The systems."),
    ]);

/// Reads the systems in `text`, which is that of `file`; paths in it are from `folder`, products are some of `products`.
///
/// # Errors
/// The first mistake.
pub fn read(file: &str, text: &str, folder: &std::path::Path, products: &[&str]) -> Result<Systems, Fault> {
    let made = tree(text, &SYSTEMS).and_then(|root| {
        let systems = root.items("systems");
        if systems.is_empty() {
            return Err(root.fault("there is no system", "add one under `systems`"));
        }
        let title = root.text("title").unwrap_or_default().to_owned();
        let systems = systems.iter().map(|node| system(node, folder, products)).collect::<Result<Vec<_>, _>>()?;
        Ok(Systems { title, backend: backend(root.get("backend"))?, systems })
    });
    made.map_err(|fault| fault.within(file))
}

fn system(node: &Node, folder: &std::path::Path, products: &[&str]) -> Result<NamedSystem, Fault> {
    if let Some(product) = node.get("product").filter(|node| !node.is_null()) {
        shape::one_of(product, products, "product")?;
    }
    let text = |name: &str| node.text(name).map(str::to_owned);
    let what = match (text("url"), text("config"), text("product")) {
        (Some(url), None, None) => What::Url(url.trim_end_matches('/').to_owned()),
        (None, Some(config), product) => What::File(folder.join(config), product),
        (None, None, Some(product)) => What::Product(product),
        (Some(_), ..) => {
            let hint = "what already runs has neither; keep one of them";
            return Err(node.fault("both `url` and `config` or `product`", hint));
        }
        (None, None, None) => return Err(node.fault("a system needs `product`, `config` or `url`", "")),
    };
    let settings = settings(node.get("set"));
    if matches!(what, What::Url(_)) && !settings.is_empty() {
        return Err(node.fault("`set` on what already runs", "name its configuration with `config`"));
    }
    Ok(NamedSystem { name: text("name").unwrap_or_default(), what, settings })
}

/// Settings (checked) by name.
pub(crate) fn settings(node: Option<&Node>) -> BTreeMap<String, String> {
    let all = node.map(Node::map).unwrap_or_default().iter();
    all.map(|(key, value)| (key.name.clone(), value.scalar().unwrap_or_default().to_owned())).collect()
}

/// The tree of a document of this form.
pub(crate) fn tree(text: &str, form: &'static Shape) -> Result<Node, Fault> {
    if text.len() > crate::LARGEST {
        return Err(Fault::whole(format!("larger than {} bytes", crate::LARGEST), ""));
    }
    let root = yaml::read(text.trim_start_matches('\u{feff}'))?;
    shape::check(&root, &Kind::Object(form), form.name, &mut Vec::new())?;
    Ok(root)
}
