// Package chart draws the results of simulations: grouped bars, lines, distributions and heat maps,
// as SVG and as PNG.
//
// A tour:
//
//   - [Bars], [Lines] and [Heat] lay a chart out as a [Figure]: shapes with their places, each in
//     an [Ink]. All outputs draw these shapes.
//   - [Figure.SVG] writes the figure for a page whose style sheet includes [CSS], so that it
//     follows the page's theme; [Figure.WriteSVG] writes a file; [Figure.WritePNG] writes pixels.
//   - An [Axis] maps values to a length and chooses ticks: linear, or logarithmic with a place
//     for 0.
//
// Lengths are in CSS pixels, y grows downwards. The same input gives the same bytes.
package chart
