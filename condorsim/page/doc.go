// Package page makes pages that stand alone: HTML files that need no network and
// open from a disk, in light and dark, on screen and on paper.
//
// A tour:
//
//   - [Study] is a folder of results as a reader wants it: schedulers beside each
//     other, for each group of cells that differ in the scheduler alone. It gives
//     [Study.Tables] and [Study.Figures].
//   - [Study.Write] makes the report: one HTML file, and beside it, on request,
//     every figure as SVG and PNG and every table as CSV.
//   - [Shell] is what all pages have in common: the style, the switch between
//     light and dark, and room for a page's own parts. The Gantt chart uses it too.
//
// Figures are drawn once, by package chart; the page's scripts choose which of
// them are shown, sort tables and read values off, and draw nothing themselves.
// Without scripts everything is shown.
//
// What is missing in the folder is said on top of the page, in every figure and
// in every table.
package page
