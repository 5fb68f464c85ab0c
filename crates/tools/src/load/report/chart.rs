//! A line chart as inline SVG: axes with round numbers, up to two lines, values on hover.
//!
//! Used by the report only. The drawing is 520 by 300 units and scales with the page; text stays
//! readable at the width of a phone. Values on hover are SVG titles: no script.

use std::fmt::Write;

/// Size of the drawing.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
/// Room for the labels of the axes.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// About how many grid lines an axis has.
const TICKS: f64 = 5.0;

/// One line.
pub(super) struct Series {
    pub name: &'static str,
    /// Whether it has the second colour.
    pub second: bool,
    pub points: Vec<(f64, f64)>,
}

/// From where to where, with labelled ticks.
pub(super) struct Axis {
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

/// A chart with its card.
pub(super) struct Chart {
    pub title: &'static str,
    pub unit: &'static str,
    pub x: Axis,
    pub y: Axis,
    /// The text of a point.
    pub tip: fn(f64, f64) -> String,
    pub lines: Vec<Series>,
}

// === impl Axis ===

impl Axis {
    /// Ticks at multiples of 1, 2 or 5, the last at or above `to`.
    pub(super) fn linear(from: f64, to: f64, label: fn(f64) -> String) -> Self {
        let rough = (to - from) / TICKS;
        let magnitude = 10f64.powf(rough.log10().floor());
        // Round numbers get a tolerance, because rates are sums of fractions.
        let rough = rough * 0.999;
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * magnitude)
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(magnitude * 10.0);
        let last = (to / step - 1e-3).ceil();
        let first = (from / step).floor();
        let ticks = (0..=(last - first) as u32)
            .map(|number| {
                // Rounded, so that 3 × 0.1 reads 0.3.
                let value = ((first + f64::from(number)) * step * 1e6).round() / 1e6;
                (value, label(value))
            })
            .collect();
        Self {
            from: first * step,
            to: last * step,
            ticks,
        }
    }

    /// Ends exactly here, without the ticks beyond.
    pub(super) fn ending_at(mut self, to: f64) -> Self {
        self.to = to;
        self.ticks.retain(|tick| tick.0 <= to);
        self
    }

    /// Ticks as given.
    pub(super) fn fixed(range: (f64, f64), ticks: Vec<(f64, String)>) -> Self {
        Self {
            from: range.0,
            to: range.1,
            ticks,
        }
    }

    /// 0 at the start, 1 at the end.
    fn place(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }
}

// === impl Chart ===

impl Chart {
    /// Appends the card with heading, key and drawing.
    pub(super) fn draw(&self, page: &mut String) {
        // Writing to a String does not fail, here and below.
        let _ = write!(
            page,
            "<section class=\"card\"><h2>{}</h2>\n<div class=\"key\">",
            self.title
        );
        for line in &self.lines {
            let class = line.class();
            let _ = write!(page, "<span><i class=\"{class}\"></i>{}</span>", line.name);
        }
        let _ = write!(
            page,
            "<span>{}</span></div>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"{}\">\n",
            self.unit, self.title
        );
        if self.lines.iter().all(|line| line.points.is_empty()) {
            let _ = writeln!(
                page,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">nothing was measured</text>",
                WIDTH / 2.0,
                HEIGHT / 2.0
            );
        } else {
            self.draw_grid(page);
            self.draw_hits(page);
            for line in &self.lines {
                self.draw_line(page, line);
            }
        }
        page.push_str("</svg></section>\n");
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn draw_grid(&self, page: &mut String) {
        let right = WIDTH - RIGHT;
        for (value, label) in &self.y.ticks {
            let y = self.y(*value);
            let _ = writeln!(
                page,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                y + 5.0
            );
        }
        for (value, label) in &self.x.ticks {
            let x = self.x(*value);
            let _ = writeln!(
                page,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                HEIGHT - BOTTOM + 22.0
            );
        }
    }

    /// A column per point of the first line that shows the values of all lines when pointed at.
    fn draw_hits(&self, page: &mut String) {
        let Some(first) = self.lines.first() else {
            return;
        };
        let places: Vec<f64> = first.points.iter().map(|point| self.x(point.0)).collect();
        for (index, place) in places.iter().enumerate() {
            let before = index
                .checked_sub(1)
                .map_or(LEFT, |left| (places[left] + place) / 2.0);
            let right = places.get(index + 1);
            let after = right.map_or(WIDTH - RIGHT, |right| (right + place) / 2.0);
            let _ = write!(
                page,
                "<rect class=\"hit\" x=\"{before:.1}\" y=\"{TOP}\" width=\"{:.1}\" \
                 height=\"{:.1}\"><title>",
                (after - before).max(0.1),
                HEIGHT - TOP - BOTTOM
            );
            for line in &self.lines {
                if let Some((x, y)) = line.points.get(index) {
                    let _ = writeln!(page, "{}: {}", line.name, (self.tip)(*x, *y));
                }
            }
            page.push_str("</title></rect>\n");
        }
    }

    fn draw_line(&self, page: &mut String, line: &Series) {
        let class = line.class();
        if let [(x, y)] = line.points[..] {
            let _ = writeln!(
                page,
                "<circle class=\"dot {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>",
                self.x(x),
                self.y(y)
            );
            return;
        }
        let _ = write!(
            page,
            "<path class=\"line {class}\" pointer-events=\"none\" d=\""
        );
        for (index, (x, y)) in line.points.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let _ = write!(page, "{command}{:.1} {:.1}", self.x(*x), self.y(*y));
        }
        page.push_str("\"/>\n");
    }
}

// === impl Series ===

impl Series {
    fn class(&self) -> &'static str {
        if self.second { "two" } else { "one" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_that_enclose_the_data() {
        let labels =
            |axis: &Axis| -> Vec<String> { axis.ticks.iter().map(|tick| tick.1.clone()).collect() };
        let axis = Axis::linear(0.0, 876_159.0, |value| format!("{value}"));
        assert_eq!(
            labels(&axis),
            ["0", "200000", "400000", "600000", "800000", "1000000"]
        );
        assert_eq!(axis.place(500_000.0), 0.5);
        let axis = Axis::linear(0.0, 0.42, |value| format!("{value}"));
        assert_eq!(labels(&axis), ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(axis.place(7.0), 1.0);
        let axis = axis.ending_at(0.42);
        assert_eq!((labels(&axis).len(), axis.place(0.42)), (5, 1.0));
    }
}
