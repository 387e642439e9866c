// Package chart draws what came of simulations: grouped bars, lines, distributions
// and heat maps, as SVG and as PNG.
//
// A tour:
//
//   - [Bars], [Lines] and [Heat] lay a chart out and give a [Figure]: shapes at
//     their places, in an [Ink] each. The geometry of a chart exists once.
//   - [Figure.SVG] writes it for a page, whose style sheet has [CSS], so that it
//     follows the page's theme; [Figure.WriteSVG] as a file of its own;
//     [Figure.WritePNG] as pixels.
//   - An [Axis] maps values to a length and chooses ticks: linear, or logarithmic
//     with a place for 0.
//
// Lengths are in CSS pixels, y grows downwards. The same input gives the same
// bytes.
package chart
