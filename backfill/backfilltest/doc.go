// Package backfilltest helps to test policies. [Conform] turns the findings of package conformance
// into failed tests, [ConformOn] on pools of a [Kind]. [Textbook] is a plain version of conservative, pc
// and dc without any shortcuts, for comparison, and [TextbookSlack] one of slack.
package backfilltest
