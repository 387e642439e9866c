// Package page makes HTML files that need no network and open from a disk, in light and dark, on
// screen and on paper.
//
// A tour:
//
//   - [Study] is a folder of results arranged for readers: schedulers beside each other, for each
//     group of cells that differ only in the scheduler. It has [Study.Tables] and [Study.Figures].
//   - [Study.Write] writes the report: one HTML file and, on request, every figure as SVG and PNG
//     and every table as CSV.
//   - Who gains and who pays under a scheduler is in tables of their own, also in Markdown.
//   - [SideBySide] is the page of a planner: what happened, and what would have been, in sentences
//     and in tables.
//   - [Shell] is what all pages have in common: the style, the switch between light and dark, and
//     room for a page's own parts. The Gantt chart uses it, too, and other reports [Report].
//
// Figures are drawn by package chart. The page's scripts only choose which of them are shown, sort
// tables and read values off. Without scripts everything is shown.
//
// If results are missing, the page says so at its top, in every figure and in every table.
package page
