// Package outlook plays a negotiator's schedule ahead, beside its cycles: when will the waiting jobs
// start, and when would they if something were not as it is.
//
// An [Outlook] is a copy of the schedule between two cycles ([New]), which never changes. From it come
// plays of package backfill/ahead: where they begin ([Outlook.Start]) and under which rules
// ([Outlook.Rules]). The policy in charge decides the cycles meanwhile, so its [Twins] decide in plays.
// Others are made of an outlook: one that knows more jobs ([Outlook.Expecting], [Suppose]), or in which
// jobs are planned otherwise ([Outlook.Under]). They share the state, which each play clones.
//
// Files, from the top down; each calls only those below it:
//
//	twins.go        further deciders of the policy in charge, and what they play
//	taking.go       what a play begins with if another policy, or other estimators, take over in it
//	suppose.go      a job that is not in the pool
//	futures.go      the range of starts, if run times are drawn from past ones
//	outlook.go      the copy, and where plays of it begin
//	arrivals.go     who comes in a future, from those that came in the last days
//	predictions.go  the predicted run times of jobs, and what they are planned with
package outlook
