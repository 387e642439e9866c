// Package classad is HTCondor's ClassAd language: parsing, printing, evaluating and matching ads.
// It follows the language as HTCondor 23.9 runs it ("old ClassAd semantics"), quirks included, and
// knows nothing of scheduling.
//
// # A tour
//
// An ad is a [ClassAd]: names with expressions. [Parse] reads ads in brackets, [ParseOld] the lines
// that condor_status -long prints, [ParseJSON] JSON and [ParseXML] XML; [ClassAd.Format] writes all
// of them, in a [Style]; [Public] leaves out what nobody else must know. [ReadAds] iterates
// over a stream of ads in any of these forms. To parse many ads use a [Parser], which is several
// times as fast and whose ads share what they have in common.
//
// An [Expr] is parsed once, by [ParseExpr] or as part of an ad, and never changes. It is evaluated
// in a [Scope]: the own ad, the other ad of a match, the [Host] for the clock, random numbers,
// users and the time zone, and Strict for the language without HTCondor's additions. The result is
// a [Value] of some [Kind]. [ClassAd.Eval], [ClassAd.Int] and similar methods evaluate an
// attribute. [Builtins] lists the functions.
//
// [Match] reports whether two ads match and [Rank] how much one prefers the other; [Pair] offers
// both, in each direction, with a host, and strict mode. [Expr.Refs] lists the attributes that an
// expression depends on, in its own ad and in the other one. [Expr.Flatten] evaluates in advance
// what does not depend on the other ad. [Expr.Explain], [Scope.Explain] and [ClassAd.Explain]
// explain why something does not match, [Explanation.Refusals] lists the clauses that refuse, and
// [Expr.Clauses] splits an expression into its clauses.
//
//	job, _ := classad.Parse("[ RequestMemory = 100; Requirements = Memory >= RequestMemory ]")
//	slot, _ := classad.Parse("[ Memory = 200; Requirements = true ]")
//	classad.Match(job, slot) // true
//
// # Three-valued logic
//
// A name that is not found is undefined and a mistake is error; both are values. Operators pass
// them on, error before undefined, except these:
//
//	false && x    false                  undefined && false   false
//	true || x     true                   undefined || true    true
//	x ?: y        y if x is undefined    x =?= y, x =!= y     true or false
//
// # Limits
//
// Texts come from users, so nothing in them may hang the program, exhaust its stack or fill its
// memory: brackets nest less than 1,000 deep, trees are at most [ast.MaxHeight] high, a text has at
// most a million names, constants and signs (only plain ads may have more), an ad in a stream at
// most 16 MiB, and the memory of a [Parser] is bounded. References are followed 400 deep, and an
// evaluation has two million steps or [Scope.MaxSteps], which also count texts that are built,
// compared and searched. A step takes at most about 50 ns and 100 bytes, whatever the expression, as
// testdata/prices.txt and BenchmarkPricePerStep show. Exceeding a limit is a
// [*SyntaxError] in parsing and the value error in evaluation. All elements of [Value.Items] share
// the steps of one evaluation. A [Meter] sums the steps of many evaluations, and [FewSteps] is the
// limit for what strangers write.
//
// QUIRKS.md lists the differences from HTCondor and those of its quirks that are copied.
//
// Package ast has the trees, and package parser makes them from text.
package classad
