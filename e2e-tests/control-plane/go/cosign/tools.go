// cosign as it is, but for the plugins for four key stores in clouds, which the tests would build for nothing.
package main

import (
	"log"

	"github.com/sigstore/cosign/v3/cmd/cosign/cli"
)

func main() {
	if err := cli.New().Execute(); err != nil {
		log.Fatalf("error: %v", err)
	}
}
