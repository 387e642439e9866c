// Package pcre is regular expressions with the syntax and the semantics of PCRE2 10.42, as HTCondor's ClassAd functions
// use it: on bytes, without UTF, in the C locale. Patterns and subjects come from users; neither can hang the program.
//
//	re, err := pcre.Compile(`^slot(\d+)@`, pcre.Caseless)
//	caps, budget := make([]int, 2*(re.Groups()+1)), 1_000_000
//	matched, err := re.Match("slot12@node", 0, pcre.Anywhere, caps, &budget) // true; caps is 0 7 4 6
//
// # A tour
//
// A pattern goes through four hands:
//
//   - The parser (parse.go; escape.go, class.go, group.go, cond.go, verb.go and property.go for the things it reads)
//     makes a tree of nodes. White space, comments, quotations, inline flags and the numbers of groups end there.
//   - The checker (check.go, size.go) resolves names, measures lookbehinds, and rejects what only shows in the whole.
//   - The emitter (program.go, emit.go) makes the program, a list of instructions without copies: a repetition has a
//     counter. What a piece can begin with (first.go) spares choices that would fail at once, and tells the search
//     where a match can begin at all.
//   - The machine (machine.go, step.go) runs the program. It tries choices in the order of the pattern and keeps those
//     that are left, together with the registers to restore, on a stack of its own (stack.go). An atomic group or a
//     lookaround forgets the choices since its begin; a call of a group saves the registers.
//
// Machines are pooled, so that a match allocates nothing unless it needs a large stack.
//
// # Limits
//
// Patterns are at most 64 KiB long and nest 250 deep. As in PCRE2, a repetition goes to 65535, and a pattern is too
// large if its compiled form, where repeated groups are copied, had more than 64 KiB; that size is an estimate here, good
// to a few percent. A match ends with [ErrBudget] when its budget is used up, when it has more than a million choices and
// registers to remember, or when the subject has 2 GiB. A call of a group within itself at the same place is
// [ErrRecursion], where PCRE2 has an error, too.
//
// # What is not there
//
// These are errors of [Compile] that say so: \X; properties but the general categories, Any, L&, Xan, Xsp, Xps and Xwd;
// duplicate names and (?J); callouts; script runs; the verbs COMMIT, PRUNE, SKIP and THEN; an (*ACCEPT) in an assertion
// and there in a group that is called from elsewhere; and at the begin of a pattern (*UTF), (*UCP), the newlines other
// than (*LF), (*NOTEMPTY) and the limits. (*NO_JIT) and the like are accepted and change nothing, (*BSR_ANYCRLF) works.
// A newline is LF; \R is any of CR, LF, CRLF, VT, FF and NEL.
//
// # Where PCRE2 differs from itself
//
// A few rare patterns match differently in PCRE2 10.42 when its optimisations are on, which are not meant to change
// anything: some where \R follows a repetition or is repeated before a dot. This package does as PCRE2 does without
// them. Nor does it follow PCRE2 where that takes a branch of a group with {0} for the begin of the pattern. What calls leave in groups that were not set before is as in PCRE2, though
// odd; see isSet.
package pcre
