//go:build tools

// Package tools names the program that scripts/h2spec.sh builds, so that go.mod and go.sum fix all of it.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
