// Package stockmodel says whose jobs HTCondor's own negotiator starts: a model for tests that compare our shares
// with those of the stock negotiator. It shares no code with the accountant.
//
// stock.go is the model; load.go makes loads, and has them pass under the model.
package stockmodel
