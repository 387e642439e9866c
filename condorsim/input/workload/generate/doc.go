// Package generate makes up traces: [Lublin] by the model of Lublin and Feitelson, which most
// studies use, and [Simple] by a few distributions with parameters that explain themselves.
//
// The estimates of generated jobs are their run times, and they need no memory; the models of
// [workload.Transform] can give them both. The same parameters and seed give the same trace on any
// machine: drawn numbers are rounded to whole seconds and processors, which hides differences in
// the last bit of a logarithm.
package generate
