// Package verdict says what an observer's record (package witness) tells of how its own negotiator
// would have done beside the live one.
//
// What "would have" means: in every cycle the observer decides on the pool as the live negotiator
// has made it. So each job is judged alone, in a state that is real: the observer's start of a job
// is the first instant at which it decided to start it there; if the live negotiator was first, it
// is the start that the observer's plan had for it just then. That is no schedule of its own: what
// a start that did not come about would have changed for the jobs after it, no record can show.
//
// Files: verdict.go the judgement, of one job and of all; groups.go of users and widths;
// promises.go of what was promised; words.go has the sentences, text.go and page.go the whole of
// it, with page.html.
package verdict
