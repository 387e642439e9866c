// Package ask asks the negotiators at work in a real pool, and has the words for questions and answers.
//
//   - find.go: a [Pool] finds its negotiators through the collector, and asks all of them at once; ask.go: what;
//   - merge.go, several.go: from the answers of several to one: a job is told by who starts it first;
//   - words.go, job.go, submit.go, units.go: from what a user writes to a question ([Words]), whoever answers it;
//   - drain.go: slots that are to be empty by a time, from words to text;
//   - explain.go, tables.go, answer.go: from what was answered to text.
//
// The other side is negotiator/htcondor/daemon. A simulation answers in condorsim/rehearsal.
package ask
