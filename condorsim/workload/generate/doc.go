// Package generate makes up traces: [Lublin] by the model of Lublin and
// Feitelson, which is the one most studies use, and [Simple] by a few
// distributions with parameters that speak for themselves.
//
// Generated jobs have no estimates but their run times and no memory; the models
// of [workload.Transform] give them some. The same parameters and seed give the
// same trace wherever it is made: what is drawn is rounded to whole seconds and
// processors, which hides that the last bit of a logarithm may differ between
// processors.
package generate
