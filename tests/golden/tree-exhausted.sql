BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000014609408374e+09,'run_started','','{"worker":{"kind":"command","options":{"command":["sh","-c","\ntask=$(cat)\necho \"$SOL_ATTEMPT\" >> calls.txt\ncase $task in\n  *''\"items\": [1, 2''* | *''\"items\": [3, 4''*) echo ''{\"status\": \"STUCK\", \"blocker\": \"too many at once\"}'' ;;\n  *) echo ''{\"status\": \"SUCCESS\", \"summary\": \"done\", \"result\": [7]}'' ;;\nesac\n"],"output":"report"}},"sol":"rules","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"count the items","context":"none","inputs":{"items":[1,2,3,4]},"constraints":[],"expected_output":{"description":"how many"},"success_criteria":[{"text":"they are in order"}],"stop_conditions":["a brick has no colour"]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/golden.yaml"},"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":3,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.76000000014609408374e+09,'created','','{"assignment":{"goal":"count the items","context":"none","inputs":{"items":[1,2,3,4]},"constraints":[],"expected_output":{"description":"how many"},"success_criteria":[{"text":"they are in order"}],"stop_conditions":["a brick has no colour"]}}');
INSERT INTO "events" VALUES(1099511627779,1.76000000014609408374e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000020821523671e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.031126,"report":{"blocker":"too many at once","status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627781,1.76000000020821523671e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(1099511627782,1.76000000020821523671e+09,'analysed','','{"kind":"other","blocker":"too many at once"}');
INSERT INTO "events" VALUES(1099511627783,1.76000000020821523671e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627784,1.76000000020821523671e+09,'started','','{"kind":"split","n":1}');
INSERT INTO "events" VALUES(1099511627785,1.76000000021700048441e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"count the items","claim":"simpler","success_criteria":[],"expected_output":null,"inputs":{"items":[1,2]},"worker":null},{"goal":"count the items","claim":"simpler","success_criteria":[],"expected_output":null,"inputs":{"items":[3,4]},"worker":null}],"sequential":false,"dimension":"inputs","reason":"input ''items'' has 4 units","how":"inputs"},"usage":{},"seconds":0.000162}');
INSERT INTO "events" VALUES(1099511627786,1.76000000021700048441e+09,'split','','{"children":["0","1"],"goals":["count the items #02d21651bf4a","count the items #a2f7ff7bc873"],"how":"inputs","dimension":"inputs","sequential":false,"reason":"input ''items'' has 4 units","because":"other"}');
INSERT INTO "events" VALUES(1099511627787,1.76000000021700048441e+09,'created','0','{"assignment":{"inputs":{"items":[1,2]}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627788,1.76000000021700048441e+09,'created','1','{"assignment":{"inputs":{"items":[3,4]}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627789,1.76000000021700048441e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627790,1.76000000021700048441e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000025569558145e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.017144,"report":{"blocker":"too many at once","status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000025569558145e+09,'stopped','0','{"n":1}');
INSERT INTO "events" VALUES(1099511627793,1.76000000025569558145e+09,'analysed','0','{"kind":"other","blocker":"too many at once"}');
INSERT INTO "events" VALUES(1099511627794,1.76000000025569558145e+09,'decided','0','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627795,1.76000000025569558145e+09,'started','0','{"kind":"split","n":1}');
INSERT INTO "events" VALUES(1099511627796,1.76000000027996063235e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.050266,"report":{"blocker":"too many at once","status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627797,1.76000000027996063235e+09,'stopped','1','{"n":1}');
INSERT INTO "events" VALUES(1099511627798,1.76000000027996063235e+09,'analysed','1','{"kind":"other","blocker":"too many at once"}');
INSERT INTO "events" VALUES(1099511627799,1.76000000027996063235e+09,'decided','1','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627800,1.76000000027996063235e+09,'answer','0','{"kind":"split","n":1,"answer":{"children":[{"goal":"count the items","claim":"simpler","success_criteria":[],"expected_output":null,"inputs":{"items":[1]},"worker":null},{"goal":"count the items","claim":"simpler","success_criteria":[],"expected_output":null,"inputs":{"items":[2]},"worker":null}],"sequential":false,"dimension":"inputs","reason":"input ''items'' has 2 units","how":"inputs"},"usage":{},"seconds":0.012641}');
INSERT INTO "events" VALUES(1099511627801,1.76000000027996063235e+09,'split','0','{"children":["00","01"],"goals":["count the items #278d9fab4402","count the items #7e8187108fe9"],"how":"inputs","dimension":"inputs","sequential":false,"reason":"input ''items'' has 2 units","because":"other"}');
INSERT INTO "events" VALUES(1099511627802,1.76000000027996063235e+09,'created','00','{"assignment":{"inputs":{"items":[1]}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627803,1.76000000027996063235e+09,'created','01','{"assignment":{"inputs":{"items":[2]}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627804,1.76000000027996063235e+09,'queued','00','{"kind":"attempt","n":1}');
INSERT INTO "events" VALUES(1099511627805,1.76000000027996063235e+09,'queued','01','{"kind":"attempt","n":1}');
INSERT INTO "events" VALUES(1099511627806,1.76000000027996063235e+09,'started','1','{"kind":"split","n":1}');
INSERT INTO "events" VALUES(1099511627807,1.76000000027996063235e+09,'dropped','00','{"keys":[["attempt",1]]}');
INSERT INTO "events" VALUES(1099511627808,1.76000000027996063235e+09,'settled','00','{"state":"exhausted","kind":"budget","reason":"The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true,"redo":"attempt","because":{}}');
INSERT INTO "events" VALUES(1099511627809,1.76000000027996063235e+09,'dropped','01','{"keys":[["attempt",1]]}');
INSERT INTO "events" VALUES(1099511627810,1.76000000027996063235e+09,'settled','01','{"state":"exhausted","kind":"budget","reason":"The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true,"redo":"attempt","because":{}}');
INSERT INTO "events" VALUES(1099511627811,1.76000000027996063235e+09,'settled','0','{"state":"exhausted","kind":"budget","reason":"Part 00 is exhausted and can be taken up again: The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true}');
INSERT INTO "events" VALUES(1099511627812,1760000000.29443,'answer','1','{"kind":"split","n":1,"answer":{"children":[{"goal":"count the items","claim":"simpler","success_criteria":[],"expected_output":null,"inputs":{"items":[3]},"worker":null},{"goal":"count the items","claim":"simpler","success_criteria":[],"expected_output":null,"inputs":{"items":[4]},"worker":null}],"sequential":false,"dimension":"inputs","reason":"input ''items'' has 2 units","how":"inputs"},"usage":{},"seconds":0.000142}');
INSERT INTO "events" VALUES(1099511627813,1760000000.29443,'split','1','{"children":["10","11"],"goals":["count the items #2e35df4a14b6","count the items #0f68100f84bc"],"how":"inputs","dimension":"inputs","sequential":false,"reason":"input ''items'' has 2 units","because":"other"}');
INSERT INTO "events" VALUES(1099511627814,1760000000.29443,'created','10','{"assignment":{"inputs":{"items":[3]}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627815,1760000000.29443,'created','11','{"assignment":{"inputs":{"items":[4]}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627816,1760000000.29443,'queued','10','{"kind":"attempt","n":1}');
INSERT INTO "events" VALUES(1099511627817,1760000000.29443,'queued','11','{"kind":"attempt","n":1}');
INSERT INTO "events" VALUES(1099511627818,1760000000.29443,'dropped','10','{"keys":[["attempt",1]]}');
INSERT INTO "events" VALUES(1099511627819,1760000000.29443,'settled','10','{"state":"exhausted","kind":"budget","reason":"The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true,"redo":"attempt","because":{}}');
INSERT INTO "events" VALUES(1099511627820,1760000000.29443,'dropped','11','{"keys":[["attempt",1]]}');
INSERT INTO "events" VALUES(1099511627821,1760000000.29443,'settled','11','{"state":"exhausted","kind":"budget","reason":"The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true,"redo":"attempt","because":{}}');
INSERT INTO "events" VALUES(1099511627822,1760000000.29443,'settled','1','{"state":"exhausted","kind":"budget","reason":"Part 10 is exhausted and can be taken up again: The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true}');
INSERT INTO "events" VALUES(1099511627823,1760000000.29443,'settled','','{"state":"exhausted","kind":"budget","reason":"Part 0 is exhausted and can be taken up again: Part 00 is exhausted and can be taken up again: The budget of 3 calls is used up: 3 spent, 1 more needed.","resumable":true}');
INSERT INTO "events" VALUES(1099511627824,1760000000.29443,'run_status','','{"status":"exhausted"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'f3ntbf',1.76000000006002068524e+09,'count the items','{}','exhausted','{"nodes":7,"calls":3,"tokens":0,"cost":0.0,"elapsed_s":0.151}',48,1760000000.29443,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
