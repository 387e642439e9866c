// Package cookbook holds the policies of plugins/COOKBOOK.md, which shows the code of each file.
// Every policy is small and has one purpose, which integration/cookbook_test.go asks of it in
// simulations.
//
//   - cookbook.go: the list of them
//   - inorder.go: what several of them share
//   - agewide.go, deadline.go, shortbackfill.go, ownercap.go, packed.go, largestshare.go, widest.go,
//     night.go, headontime.go, turns.go: a policy each
package cookbook
