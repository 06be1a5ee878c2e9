"""The real Karpenter in a rehearsal, and the AWS account that answers it.

`account` is what the account has and EC2 could give, `instances` what it gave, `ec2` and `services`
answer Karpenter's calls by HTTP (`server`), `controller` starts Karpenter as its Release configures
it, and `machines` hands each instance to the boot of its own user data.
"""
