module holdfast/tools/apiclients

go 1.26.8

replace holdfast => ../..

require (
	github.com/PaddleHQ/paddle-go-sdk/v4 v4.1.0
	github.com/stretchr/testify v1.12.1
	github.com/stripe/stripe-go/v82 v82.5.1
	holdfast v0.0.0-00010101000000-000000000000
)

require (
	github.com/ggicci/httpin v0.20.1 // indirect
	github.com/ggicci/owl v0.8.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
