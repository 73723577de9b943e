module holdfast/tools/tctl

go 1.26

tool github.com/temporalio/tctl/cmd/tctl

require github.com/temporalio/tctl v1.18.0
