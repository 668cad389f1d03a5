"""What people watch a service by: numbers for Prometheus and for `svc/<instance>`, and whether it is well."""
