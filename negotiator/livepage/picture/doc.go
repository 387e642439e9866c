// Package picture makes pictures of a pool: plain data that says which slots there are, what runs and
// what is planned on them, and who waits, as of the end of a cycle. A picture is made beside the cycles,
// of copies, and never changes.
//
//   - picture.go: a [Picture] is a [Head], [Slot]s and [Job]s; parts.go: what each of several negotiators has;
//   - scene.go: a [Scene] is what a picture is made from: an outlook, and what is told of starts;
//   - difference.go: what differs between two pictures, for those who have seen the first; encode.go: JSON.
//
// The picture of a real pool and that of a simulated one are made by the same code.
package picture
