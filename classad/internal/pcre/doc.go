// Package pcre implements regular expressions with the syntax and the semantics of PCRE2 10.42, as
// HTCondor's ClassAd functions use it: on bytes, without UTF, in the C locale. Patterns and
// subjects come from users; neither can hang the program.
//
//	re, err := pcre.Compile(`^slot(\d+)@`, pcre.Caseless)
//	caps, budget := make([]int, 2*(re.Groups()+1)), 1_000_000
//	matched, err := re.Match("slot12@node", 0, pcre.Anywhere, caps, &budget)
//	// matched is true, caps is 0 7 4 6
//
// # A tour
//
// A pattern passes through four stages:
//
//   - The parser (parse.go; escape.go, class.go, group.go, cond.go, verb.go and property.go for
//     parts of the syntax) makes a tree of nodes. It resolves white space, comments, quotations,
//     inline flags and the numbers of groups.
//   - The checker (check.go, size.go) resolves names, measures lookbehinds, and rejects what is
//     wrong only in the context of the whole pattern.
//   - The emitter (program.go, emit.go) makes the program, a list of instructions. Repetitions use
//     counters instead of copies. From what a piece can begin with (first.go) it derives which
//     choices would fail at once, and where in the subject a match can begin.
//   - The machine (machine.go, step.go) runs the program. It tries choices in the order of the
//     pattern and keeps the remaining ones, together with the registers to restore, on a stack of
//     its own (stack.go). An atomic group or a lookaround drops the choices since its start; a call
//     of a group saves the registers.
//
// Machines are pooled, so a match allocates nothing unless it needs a large stack.
//
// # Limits
//
// Patterns are at most 64 KiB long and nest 250 deep. As in PCRE2, a repetition goes to 65535, and
// a pattern is too large if its compiled form, in which PCRE2 copies repeated groups, exceeds 64
// KiB; that size is estimated here, with an error of a few percent. A match ends with [ErrBudget]
// when its budget is used up, when it has more than a million choices and registers to remember, or
// when the subject has 2 GiB. A call of a group within itself at the same place is [ErrRecursion];
// PCRE2 returns an error, too.
//
// # What is not supported
//
// [Compile] refuses these as not supported: \X; properties other than the general categories, Any,
// L&, Xan, Xsp, Xps and Xwd; duplicate names and (?J); callouts; script runs; the verbs COMMIT,
// PRUNE, SKIP and THEN; an (*ACCEPT) in an assertion within a group that is called from elsewhere;
// and at the start of a pattern (*UTF), (*UCP), newlines other than (*LF), (*NOTEMPTY) and the
// limits. (*NO_JIT) and similar settings are accepted and ignored; (*BSR_ANYCRLF) works. A newline
// is LF; \R is any of CR, LF, CRLF, VT, FF and NEL.
//
// # Where PCRE2 contradicts itself
//
// A few rare patterns match differently in PCRE2 10.42 when its optimisations are on, although
// these should not change results: some in which \R follows a repetition or is repeated before a
// dot. This package behaves like PCRE2 without them. It also differs where PCRE2 mistakes a branch
// of a group with {0} for the start of the pattern. One oddity of PCRE2 is copied: in which state a
// call leaves groups that were not set before; see isSet.
package pcre
