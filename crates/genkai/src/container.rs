//! `--on podman:...`: an image, and what may stand behind it.

use genkai_model::load::{ContainerPlace, Way};

use crate::cluster::image;

/// The containers that a text names, and how many of them, where it says so. Their program is set later.
///
/// # Errors
/// When that cannot be.
pub(crate) fn read(text: &str) -> Result<(ContainerPlace, Option<&str>), String> {
    let mut parts = text.split(',');
    let mut place = ContainerPlace { image: image(parts.next().unwrap_or_default().to_owned())?, ..Default::default() };
    if place.image.starts_with('-') {
        return Err(format!("`{}` is not the name of an image", place.image));
    }
    let mut many = None;
    for option in parts {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let slot = match key {
            "containers" if many.is_none() => {
                many = Some(value);
                continue;
            }
            "network" => &mut place.network,
            "cpus" => &mut place.cpus,
            "memory" => &mut place.memory,
            "containers" => return Err("`containers=` stands twice".to_owned()),
            _ => {
                return Err(format!(
                    "`{option}`: behind the image, containers=, network=, cpus= and memory= are known"
                ));
            }
        };
        if value.is_empty() || value.starts_with('-') || value.contains(char::is_whitespace) {
            return Err(format!("`{option}`: a value is wanted, e.g. network=host, cpus=0.5 or memory=512m"));
        }
        if slot.replace(value.to_owned()).is_some() {
            return Err(format!("`{key}=` stands twice"));
        }
    }
    Ok((place, many))
}

/// The way to a container.
pub(crate) fn one(place: &ContainerPlace, index: u16) -> Way {
    Way::Container { place: place.clone(), index, name: format!("container {index}") }
}
