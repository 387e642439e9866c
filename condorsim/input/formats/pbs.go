package formats

// pbs is the accounting log of PBS and Torque.
var pbs = &Format{
	Holds:      "the accounting log of PBS or Torque",
	Recognises: begins(`^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];`),
	Instead:    toSWF,
}
