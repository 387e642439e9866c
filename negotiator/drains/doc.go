// Package drains keeps which slots are to be empty at an instant, since somebody asked for it, and
// tells how far they are.
//
// A drain gives its slot an end: jobs go on filling the slot as long as they end by then. From then
// on no job starts there, until the drain is cancelled or its time is over.
//
// Files:
//   - drain.go: a drain, and what the slot of a drain is reported as
//   - request.go: what can be asked for, and which slots a name means
//   - book.go: the drains of a pool
//   - list.go: what is told of them
package drains
