// Package backfilltest helps to test policies. [Conform] turns the faults that package conformance
// finds into failed tests, [ConformOn] its advice, too, on pools of a [Kind]. [Textbook] is a plain version of conservative, pc
// and dc without any shortcuts, for comparison, and [TextbookSlack] one of slack.
package backfilltest
