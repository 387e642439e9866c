// Package classad is HTCondor's ClassAd language: parsing, printing, evaluating and matching ads. It follows the
// language as HTCondor 23.9 runs it ("old ClassAd semantics"), quirks included, and knows nothing of scheduling.
//
// # A tour
//
// An ad is a [ClassAd]: names with expressions. [Parse] reads the bracket form, [ParseOld] the lines that
// condor_status -long prints, [ParseJSON] and [ParseXML] those two; [ClassAd.Format] writes them in a [Style]. [ReadAds]
// goes through a stream of ads in any of these forms. Whoever parses many ads keeps a [Parser], which is several times
// as fast and makes ads that share what they have in common.
//
// An [Expr] is parsed once, by [ParseExpr] or as part of an ad, never changes and is evaluated against a [Scope]: the
// own ad, the other ad of a match, the [Host] for the clock, chance, users and the time zone, and Strict for the language
// without HTCondor's habits. The result is a [Value]; its kinds are [Kind]. [ClassAd.Eval], [ClassAd.Int] and the like
// evaluate an attribute. [Builtins] lists the functions.
//
// [Match] tells whether two ads fit and [Rank] how much one likes the other; [Pair] has both, each direction of them, and
// strict mode. [Expr.Refs] says which attributes an expression depends on, here and in the other ad. [Expr.Flatten]
// evaluates beforehand what does not depend on the other ad. [Expr.Explain] and [ClassAd.Explain] say why something
// does not match, and [Expr.Clauses] takes an expression apart.
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
// Texts come from users, so nothing in them can hang the program, exhaust its stack or fill its memory: brackets nest
// less than 1,000 deep, trees are at most [ast.MaxHeight] high, a text has at most a million names, constants and signs
// (only plain ads may have more), an ad in a stream at most 16 MiB, and what a [Parser] remembers is bounded.
// References are followed 400 deep, and an evaluation has two million steps or [Scope.MaxSteps], in which texts that are
// built, compared and searched count too: it ends within a few seconds at the worst. What exceeds a limit is a
// [*SyntaxError] in parsing and the value error in evaluation. [Value.Items] has the steps of one evaluation for all
// elements.
//
// What differs from HTCondor, and which of its quirks are copied, is in QUIRKS.md.
//
// The trees are in the package ast, and the package parser makes them from text.
package classad
