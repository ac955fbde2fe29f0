// The program that lists what a released binary is made of, in a module of its own: what it needs
// never reaches the components.
module github.com/profiletometrics/profiletometrics/build/sbom

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.9.3
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
