// Package classad is HTCondor's ClassAd language: parsing, printing, evaluating and matching ads. It follows the
// language as HTCondor 23.9 runs it ("old ClassAd semantics"), quirks included, and knows nothing of scheduling.
//
// # A tour
//
// An ad is a [ClassAd]: names with expressions. [Parse] reads the bracket form, [ParseOld] the lines that
// condor_status -long prints, [ParseJSON] and [ParseXML] those two, [ReadAds] a stream of any; [ClassAd.Format] writes
// them. An [Expr] is parsed once, never changes and is evaluated
// against a [Scope], which gives a [Value]. [Match] tells whether two ads fit, [Rank] how much one likes the other, and
// [Expr.Refs] which attributes an expression depends on. [Expr.Explain] says why something does not match, and
// [Expr.Flatten] evaluates beforehand what does not depend on the other ad.
//
//	job, _ := classad.Parse(`[ RequestMemory = 100; Requirements = TARGET.Memory >= RequestMemory ]`)
//	slot, _ := classad.Parse(`[ Memory = 200; Requirements = true ]`)
//	classad.Match(job, slot) // true
//
// # Three-valued logic
//
// A name that is not found is undefined and a mistake is error; both are values. Operators pass them on, error before
// undefined, except these:
//
//	false && x    false                  undefined && false   false
//	true || x     true                   undefined || true    true
//	x ?: y        y if x is undefined    x =?= y, x =!= y     true or false
//
// # Limits
//
// Texts come from users, so nothing in them can hang the program or exhaust its stack: brackets nest less than 1,000
// deep, trees are at most [ast.MaxHeight] high, references are followed 400 deep, and the steps of an evaluation are
// counted. What exceeds a limit is a [*SyntaxError] in parsing and the value error in evaluation.
//
// What differs from HTCondor, and which of its quirks are copied, is in QUIRKS.md.
//
// The trees are in the package ast, and the package parser makes them from text.
package classad
