// Package ask asks the negotiator at work in a real pool, and has the words for questions and answers.
//
//   - ask.go: a [Pool] finds its negotiator through the collector, and asks it;
//   - words.go, job.go, submit.go, units.go: from what a user writes to a question ([Words]), whoever answers it;
//   - drain.go: slots that are to be empty by a time, from words to text;
//   - explain.go, tables.go, answer.go: from what was answered to text.
//
// The other side is negotiator/htcondor/daemon. A simulation answers in condorsim/rehearsal.
package ask
