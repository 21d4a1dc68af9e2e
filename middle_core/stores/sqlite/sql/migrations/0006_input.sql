-- What a run was asked, for the attempt that goes on with it after its replica died. It is forgotten when the run ends.
ALTER TABLE runs ADD COLUMN input BLOB;
