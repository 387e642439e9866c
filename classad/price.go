package classad

// What evaluation costs besides one step for each node of an expression, in steps. A step is meant
// to take less than 50 ns and 100 bytes, whatever the expression: BenchmarkPricePerStep measures it.
const (
	// bytesPerStep is how much text is compared, searched or copied in a step.
	bytesPerStep = 16
	// quotedBytesPerStep is how much text is printed with quotes and escapes in a step.
	quotedBytesPerStep = 8
	// stepsPerAttribute is for printing an attribute of an ad, besides its expression.
	stepsPerAttribute = 12
	// stepsPerElement is for an element of a list that a function makes.
	stepsPerElement = 3
	// stepsPerEntry is for an entry of a table or an environment.
	stepsPerEntry = 6
	// stepsPerKept is for a list or an ad as the result of an evaluation, whose memory it keeps.
	stepsPerKept = 50
	// stepsPerNumber is for writing a number, and for reading one that is not long.
	stepsPerNumber = 6
	// stepsPerLongNumber is for reading a number with many digits or a small exponent.
	stepsPerLongNumber = 60
	// stepsPerPower is for a power of two numbers.
	stepsPerPower = 16
	// stepsPerTime is for a time in fields, and stepsPerFormatByte for a byte of its format, which
	// may stand for many more.
	stepsPerTime, stepsPerFormatByte = 60, 20
	// stepsPerParsedByte is for a byte of an expression that is parsed and compiled.
	stepsPerParsedByte = 16
	// stepsPerReference is for an attribute whose references are followed, and for one that is found.
	stepsPerReference = 16
	// stepsPerSearch is for the start of a search, and stepsPerPatternByte for compiling a pattern.
	stepsPerSearch, stepsPerPatternByte = 2, 12
	// searchStepsPerStep is how many steps of a search count as one.
	searchStepsPerStep = 3
)

// outermost returns the outermost ad around f, and charges a step for each ad on the way.
func (ev *evaluator) outermost(f *frame) *frame {
	for f.parent != nil && ev.spend(1) {
		f = f.parent
	}
	return f
}
