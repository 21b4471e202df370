//! records to statements: statistics, capacity, diagnosis, tuning; all pure.
