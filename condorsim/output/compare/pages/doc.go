// Package pages shows comparisons to people: as sections for a terminal, and as one HTML page.
//
// A tour:
//
//   - pages.go: [Page] and what it consists of; [Page.Sections] is for a terminal, [Page.JSON] for programs;
//   - words.go: what a comparison says, in sentences;
//   - tables.go: its tables;
//   - values.go: how numbers, times and differences are written in them;
//   - cells.go: the tables of finished simulations;
//   - html.go: the page, with its charts; assets has its style and its script.
package pages
