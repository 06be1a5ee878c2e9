"""Which names AWS gives once, and where.

Read from the operations' own documentation (docs.aws.amazon.com; the same sentences stand in the
AWS SDK for Go v2: ec2 v1.311.0, iam v1.54.7, sqs v1.44.2, in `api_op_<operation>.go`):

- CreateUser, CreateRole, CreatePolicy: "names must be unique within the account. Names are not
  distinguished by case." A path makes no other name of it. CreateInstanceProfile answers
  EntityAlreadyExists as they do, and says nothing of case: here `Ops` and `ops` are two profiles.
- CreateBucket: unique in all accounts of a partition. In us-east-1 one's own bucket is made again
  without an error, but the provider looks first and refuses (terraform-provider-aws,
  internal/service/s3/bucket.go, resourceBucketCreate).
- CreateQueue: unique in an account and region. With "the exact names and values of all the queue's
  attributes" it returns the queue that is there, else an error. Tags are no
  attributes; the policy, which a resource of its own sets, is left out.
- CreatePlacementGroup: unique in an account and region. (Here in the account: the id of a group is
  its name.)
- CreateSecurityGroup: "Names are case-insensitive and must be unique within the VPC."

What is written over without a word has no line here: PutRule and PutTargets of EventBridge (a rule
of that name "is replaced"), PutRolePolicy and PutUserPolicy, AttachUserPolicy, SetQueueAttributes,
PutObject, and the configurations of a bucket, PutPublicAccessBlock among them. VPCs, subnets and
access keys have no names. The launch templates that Karpenter makes are in
`rehearsal.karpenter.launch`.
"""

from rehearsal.providers.unique import Unique

IAM = (Unique(any_case=True),)
INSTANCE_PROFILE = (Unique(),)
BUCKET = (Unique(property="bucket"),)
QUEUE = (
    Unique(
        within=("region",),
        answers_alike=(
            *("delaySeconds", "fifoQueue", "kmsMasterKeyId", "maxMessageSize"),
            *("messageRetentionSeconds", "receiveWaitTimeSeconds", "redrivePolicy"),
            *("sqsManagedSseEnabled", "visibilityTimeoutSeconds"),
        ),
    ),
)
PLACEMENT_GROUP = (Unique(),)
SECURITY_GROUP = (Unique(within=("vpcId", "region"), any_case=True),)
