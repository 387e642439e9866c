// Package drawing holds what all pages of the project draw with: colours, and JavaScript for charts
// of slots and time on a canvas. The live page loads its modules one by one; the pages of condorsim,
// which are single files, contain them as one script.
//
// A tour:
//
//   - colours.go: the colours of text, lines and series, for a light and a dark background.
//     [Colours] declares them in CSS.
//   - drawing.go: [Files] has the assets as files, [Text] one of them, and [Script] several modules
//     as one script.
//   - assets/base.css is the style of all pages; before.js and theme.js switch between light, dark
//     and what the system says.
//   - assets/view.js maps time and lanes to pixels, sheet.js has the canvases, the grid and the
//     colours, shade.js draws what is smaller than a dot, strip.js is the whole at a glance,
//     hand.js answers to pointer, wheel and keys, spans.js finds what is in sight, and times.js
//     says times and durations.
package drawing
